"""What happened: chains around a hit, sessions, and times told again; a part of `lamina.Vault`."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from lamina_engine.clock import Instant
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from lamina.storyresults import Reconstruction, SessionInfo, Story


class Episodic:
    """Sessions of a vault, and the stories in them."""

    _memory: Any

    def chain(
        self,
        query: str | Sequence[str] | None = None,
        direction: Literal["backward", "forward"] = "backward",
        token_budget: int = 20_000,
        *,
        seeds: Sequence[str] | None = None,
        agent: str | None = None,
        where: Mapping[str, Any] | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        as_of: Instant | None = None,
        now: Instant | None = None,
        vector: ArrayLike | None = None,
        profile: str = "episodic",
        tz: str | None = None,
    ) -> Story:
        """Tell how it came to what a question finds, or what came after it: the chain of chunks around a hit.

        Chains begin with the first hits and go along the links of sessions and documents; the one whose chunks have the
        highest median match with the question is told. Where none has two chunks, the answer is a search, and says why.

        Parameters
        ----------
        query : str or sequence of str
            A question; or ids to begin with.
        direction : {"backward", "forward"}
            What led here, or what came next.
        token_budget : int
            Most tokens of the chain's texts; see `lamina_engine.recall.pack.count_tokens`.
        seeds : sequence of str, optional
            Ids to begin with, in place of the question's hits; with a question, chunks still count for their match with it,
            without one for their likeness to the seeds.
        agent : str, optional
            Tell only what this agent said; up to five chunks of others in a row are gone through. A sub-agent
            ``claude-code/reviewer`` is also known as ``reviewer``.
        where, since, until, as_of, now, vector, tz
            As in `recall`: they choose the hits. Chains go where links lead, unfiltered.
        profile : str
            Its ``chains`` say how far they go.

        Raises
        ------
        InvalidArgument, InvalidConfig, ChunkNotFound, AmbiguousId, EmbedderMismatch, EmbeddingError, VaultCorrupt
        """
        from lamina.storyresults import story_of
        from lamina_engine.recall.stories import chain

        if query is not None and not isinstance(query, str):
            if seeds is not None:
                raise InvalidArgument("query holds ids and seeds was given too; give ids once")
            query, seeds = None, list(query) if isinstance(query, Sequence) else query
        found = chain(
            self._memory, query, seeds=seeds, direction=direction, token_budget=token_budget, agent=agent,
            profile=profile, vector=vector, as_of=as_of, where=where, since=since, until=until, now=now, tz=tz,
        )  # fmt: skip
        return story_of(query, direction, found)

    def sessions(
        self,
        project: str | None = None,
        *,
        agent: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        days: float | None = None,
        limit: int = 30,
        now: Instant | None = None,
        tz: str | None = None,
    ) -> builtins.list[SessionInfo]:
        """Return the sessions of the vault, the newest first.

        Parameters
        ----------
        project, agent : str, optional
            Only chunks of these.
        since, until : date, optional
            Only chunks with since <= created_at < until.
        days : float, optional
            Only the last days, counted back from now.
        limit : int
            Most sessions.
        now : date, optional
            The moment ``days`` count back from; the clock's time unless given.
        tz : str, optional
            Zone of naive dates in this call; the vault's unless given.

        Raises
        ------
        InvalidArgument
        """
        from lamina.storyresults import session_info
        from lamina_engine.recall.sessions import TimeRange, list_sessions

        window = TimeRange(since, until, days, now, tz)
        found = list_sessions(self._memory, window, limit, project=project, agent=agent)
        return [session_info(session) for session in found]

    def reconstruct(
        self,
        session: str | None = None,
        *,
        since: Instant | None = None,
        until: Instant | None = None,
        days: float | None = None,
        previous: bool = False,
        project: str | None = None,
        agent: str | None = None,
        mode: Literal["timeline", "briefing"] = "timeline",
        keep: Literal["newest", "oldest"] = "newest",
        token_budget: int = 4_000,
        as_of: Instant | None = None,
        now: Instant | None = None,
        tz: str | None = None,
    ) -> Reconstruction:
        """Tell a session, or a span of days, again, inside a budget of tokens.

        Parameters
        ----------
        session : str, optional
            Which one; with ``previous``, the one that came before it in its project.
        since, until : date, optional
            Only chunks with since <= created_at < until.
        days : float, optional
            Only the last days, counted back from now.
        previous : bool
            The session before: before ``session``, or else the last of all (of ``project``).
        project, agent : str, optional
            Only chunks of these.
        mode : {"timeline", "briefing"}
            Chunks as they stand, in order and without holes; or a paragraph for each of the last three sessions, then the
            newest chunks.
        keep : {"newest", "oldest"}
            Which end of a timeline stays where not all fits.
        token_budget : int
            Most tokens of the whole text; see `lamina_engine.recall.pack.count_tokens`.
        as_of, now, tz
            As in `recall`.

        Raises
        ------
        InvalidArgument
        SessionNotFound
            No chunk asked for is of the session, or none came before it. A `ChunkNotFound`.
        """
        from lamina.storyresults import reconstruction_of
        from lamina_engine.recall.reconstruction import ReconstructionOptions
        from lamina_engine.recall.reconstruction import reconstruct as run
        from lamina_engine.recall.sessions import TimeRange

        found = run(
            self._memory, session, TimeRange(since, until, days, now, tz), ReconstructionOptions(mode, keep, token_budget),
            previous=previous, as_of=as_of, project=project, agent=agent,
        )  # fmt: skip
        return reconstruction_of(found)
