"""Freshness of chunks: reports, refreshing and reviews; ``vault.freshness``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lamina.accessor import Accessor
from lamina_engine.clock import Instant

if TYPE_CHECKING:
    from lamina.options import PathLike, Tier, Where
    from lamina_engine.freshness.archive import ArchiveReport
    from lamina_engine.freshness.refresh import RefreshReport
    from lamina_engine.freshness.report import FreshnessReport
    from lamina_engine.results import Chunk


class Freshness(Accessor):
    """Freshness of a vault's chunks. Call it for a report: ``vault.freshness()``.

    Examples
    --------
    >>> sum(vault.freshness(git_check=False).counts.values())
    3
    """

    def __call__(
        self,
        repo: PathLike | None = None,
        collection: str | None = None,
        tier: Tier | None = None,
        *,
        project: str | None = None,
        where: Where | None = None,
        git_check: bool = True,
    ) -> FreshnessReport:
        """Report which chunks are still current, from the git history of their files.

        Later hits carry the tier.

        Parameters
        ----------
        repo : path, optional
            Only chunks whose file lies in this work tree, or was written in one that has moved.
        collection, project : str, optional
            Only chunks of this collection or project.
        tier : {"fresh", "aging", "stale", "expired", "unknown"}, optional
            List only this tier; all are counted.
        where : mapping, optional
            A filter; see `lamina_engine.recall.filters`.
        git_check : bool
            False runs no git: every chunk is judged by its age.

        Returns
        -------
        FreshnessReport

        Raises
        ------
        InvalidArgument, InvalidConfig, VaultLocked, OSError

        Notes
        -----
        The tier follows from the commits to a file since its chunk was written: fresh 0 to 2, aging 3 to 9, stale 10 to
        24, expired 25 or more, or deleted. Chunks without a file are judged by their age; undecidable ones are
        ``unknown``. Verdicts are recorded where the vault is open for writing. O(chunks + commits since the oldest).
        """
        from lamina_engine.freshness.scan import check_freshness

        return check_freshness(
            self._memory, repo=repo, collection=collection, tier=tier, project=project, filter_=where,
            git_check=git_check,
        )  # fmt: skip

    def refresh(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Where | None = None,
        tier: Tier | None = None,
        collection: str | None = None,
        project: str | None = None,
        needs_review: bool | None = None,
        dry_run: bool = True,
    ) -> RefreshReport:
        """Read the sources of some chunks again and supersede what changed.

        Their review flags are cleared.

        Parameters
        ----------
        ids : str or sequence of str, optional
            Ids, or unambiguous short ids.
        where : mapping, optional
            A filter; ``{"freshness": "stale"}`` and ``{"needs_review": true}`` refer to a new scan.
        tier, collection, project, needs_review
            The same by name; all conditions must hold.
        dry_run : bool
            Only report; False writes.

        Returns
        -------
        RefreshReport
            The outcome of each: ``unchanged`` (confirmed), ``superseded``, ``removed`` (its text left the file),
            ``proposed`` (its source no longer exists: `lamina.Vault.invalidate` is the caller's decision), ``work`` (a memory in
            someone's own words; ``work`` holds the old text, the changes and a prompt), ``skipped``.

        Raises
        ------
        InvalidArgument
            When nothing is selected, or for an unknown tier or filter.
        ChunkNotFound, AmbiguousId, InvalidConfig, VaultReadOnly, VaultLocked, OSError

        Notes
        -----
        Files are read whole, so their other chunks are brought up to date too. Nothing is deleted; history is kept.

        Examples
        --------
        >>> vault.refresh(["db"]).dry_run
        True
        """
        from lamina_engine.freshness.refresh import refresh

        return refresh(
            self._memory, ids=ids, filter_=where, tier=tier, collection=collection, project=project,
            needs_review=needs_review, dry_run=dry_run,
        )  # fmt: skip

    def review(self, id: str, reason: str = "", *, needed: bool = True) -> Chunk:
        """Ask for a review of a chunk, or record that it was reviewed and is right.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        reason : str
            The reason, in words; required when a review is asked for.
        needed : bool
            True sets ``needs_review``, which no scan clears. False clears it, and commits count from now on.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked

        Examples
        --------
        >>> vault.review("db", "check the version").needs_review
        True
        """
        if needed:
            from lamina_engine.chunks.lifecycle import review

            return review(self._memory, id, reason)
        from lamina_engine.freshness.refresh import confirm_review

        return confirm_review(self._memory, id, reason)

    def snooze(self, id: str, until: Instant | None, *, tz: str | None = None) -> Chunk:
        """Keep a chunk out of recall until a moment; None wakes it. It stays listed.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        until : date, optional
            End of the snooze, compared with the ``now`` of a recall.
        tz : str, optional
            Time zone of a naive date; the vault's by default.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked

        Examples
        --------
        >>> vault.snooze("db", "2026-04-01").snoozed_until.isoformat()
        '2026-04-01T00:00:00+00:00'
        """
        from lamina_engine.chunks.lifecycle import snooze, wake

        if until is None:
            return wake(self._memory, id)
        return snooze(self._memory, id, self._memory.moment(until, "until", tz))

    def archive(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Where | None = None,
        after_days: float = 90.0,
        types: Mapping[str, float | None] | None = None,
        tier: Tier | None = None,
        dry_run: bool = True,
    ) -> ArchiveReport:
        """Archive chunks, by id or by age.

        Archived chunks are out of recall, listed by ``{"status": "archived"}`` and brought back by `lamina.Vault.restore`.

        Parameters
        ----------
        ids : str or sequence of str, optional
            Which chunks; by default those not written or dated within ``after_days`` (nor recalled, where a profile
            counts recalls). Pinned and snoozed chunks, and types whose truth does not fade (preference, antipattern, hub,
            deductive), are never archived by age.
        where : mapping, optional
            Only chunks that a filter accepts.
        after_days : float
            Days without change.
        types : mapping, optional
            Days by type; None exempts a type.
        tier : {"fresh", "aging", "stale", "expired", "unknown"}, optional
            Chunks of this tier by the last `lamina.Vault.freshness`, whatever their age.
        dry_run : bool
            Only report; False writes.

        Returns
        -------
        ArchiveReport

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked

        Examples
        --------
        >>> vault.archive(after_days=3650).dry_run
        True
        """
        from lamina_engine.freshness.archive import archive

        return archive(
            self._memory, ids=ids, filter_=where, after_days=after_days, types=types, tier=tier, dry_run=dry_run
        )
