"""What is still true: freshness, reviews, refreshing, putting away; a part of `lamina.Vault`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina_engine.chunks.reading import Chunk
    from lamina_engine.clock import Instant
    from lamina_engine.freshness.archive import ArchiveReport
    from lamina_engine.freshness.refresh import RefreshReport
    from lamina_engine.freshness.report import FreshnessReport


class Fresh:
    """Freshness and lifecycle of a vault's chunks."""

    _memory: Any

    def freshness(
        self,
        repo: str | os.PathLike[str] | None = None,
        collection: str | None = None,
        tier: str | None = None,
        *,
        project: str | None = None,
        where: Mapping[str, Any] | None = None,
        git_check: bool = True,
    ) -> FreshnessReport:
        """Tell which chunks are still current, by what became of their files; hits carry the tier from then on.

        Parameters
        ----------
        repo : path, optional
            Judge only chunks whose file lies in this work tree, or was written in one that is no longer where it was.
        collection, project : str, optional
            Judge only these.
        tier : {"fresh", "aging", "stale", "expired", "unknown"}, optional
            Show only this one; all are counted.
        where : mapping, optional
            A filter; see `lamina_engine.recall.where`.
        git_check : bool
            False asks no git: everything goes by its age.

        Returns
        -------
        FreshnessReport

        Raises
        ------
        InvalidArgument, InvalidConfig, VaultLocked, OSError

        Notes
        -----
        Commits that touched a file since its chunk was written set the tier: fresh 0 to 2, aging 3 to 9, stale 10 to 24,
        expired from 25 (or deleted). Chunks without a file go by their age. What cannot be found out is ``unknown``.
        Verdicts are written down where the vault is open for writing. O(chunks + commits since the oldest of them).
        """
        from lamina_engine.freshness.scan import check_freshness

        return check_freshness(
            self._memory,
            repo=repo,
            collection=collection,
            tier=tier,
            project=project,
            filter_=where,
            git_check=git_check,
        )

    def refresh(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        tier: str | None = None,
        collection: str | None = None,
        project: str | None = None,
        needs_review: bool | None = None,
        dry_run: bool = True,
    ) -> RefreshReport:
        """Bring chosen chunks level with their source: read it again, supersede what changed, clear what asked for it.

        Parameters
        ----------
        ids : str or sequence of str, optional
            Ids, or unambiguous short ones.
        where : mapping, optional
            A filter; ``{"freshness": "stale"}`` and ``{"needs_review": true}`` are asked of a new scan.
        tier, collection, project, needs_review
            The same by name; all that is given must hold.
        dry_run : bool
            Only tell what would be done; False does it.

        Returns
        -------
        RefreshReport
            What becomes of each: ``unchanged`` (confirmed), ``superseded``, ``removed`` (its text left its file),
            ``proposed`` (its source is gone: `invalidate` is yours to say), ``work`` (a memory in someone's own words: see
            ``work``, each with the old text, what changed and a prompt), ``skipped``.

        Raises
        ------
        InvalidArgument
            When nothing is chosen, or for a tier or filter that is not known.
        ChunkNotFound, AmbiguousId, InvalidConfig, VaultReadOnly, VaultLocked, OSError

        Notes
        -----
        A file is read whole, so other chunks of it are brought level too. Nothing is deleted; history is kept.
        """
        from lamina_engine.freshness.refresh import refresh

        return refresh(
            self._memory, ids=ids, filter_=where, tier=tier, collection=collection, project=project,
            needs_review=needs_review, dry_run=dry_run,
        )  # fmt: skip

    def review(self, id: str, reason: str = "", *, needed: bool = True) -> Chunk:
        """Ask that somebody looks at a chunk, or say that it was looked at and is right.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short one.
        reason : str
            Why, in words; needed where a review is asked for.
        needed : bool
            True sets ``needs_review``, and no scan clears it. False clears it, and commits count from now on.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
        """
        if needed:
            from lamina_engine.chunks.lifecycle import review

            return review(self._memory, id, reason)
        from lamina_engine.freshness.refresh import confirm_review

        return confirm_review(self._memory, id, reason)

    def snooze(self, id: str, until: Instant | None, *, tz: str | None = None) -> Chunk:
        """Keep a chunk out of recall until a moment; None wakes it. It stays listed, and `recall` finds it again then.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short one.
        until : date, optional
            Until when, in the time that a recall goes by (its ``now``).
        tz : str, optional
            Zone of a date without one; the vault's unless given.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
        """
        from lamina_engine.chunks.lifecycle import snooze, wake
        from lamina_engine.clock import parse_instant

        if until is None:
            return wake(self._memory, id)
        return snooze(self._memory, id, parse_instant(until, tz or self._memory.config.tz, what="until"))

    def archive(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        after_days: float = 90.0,
        types: Mapping[str, float | None] | None = None,
        dry_run: bool = True,
    ) -> ArchiveReport:
        """Put chunks away: out of recall, listed by ``{"status": "archived"}``, brought back by `restore`.

        Parameters
        ----------
        ids : str or sequence of str, optional
            Which; without ids, those that nobody wrote or dated within ``after_days`` (nor recalled, where a profile
            reinforces: only then recalls are counted): never pinned or snoozed ones, nor types whose truth does not fade
            (preference, antipattern, hub, deductive).
        where : mapping, optional
            Only those that a filter accepts.
        after_days : float
            Days.
        types : mapping, optional
            Days by type; None exempts one.
        dry_run : bool
            Only tell which; False archives them.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked
        """
        from lamina_engine.freshness.archive import archive

        return archive(self._memory, ids=ids, filter_=where, after_days=after_days, types=types, dry_run=dry_run)
