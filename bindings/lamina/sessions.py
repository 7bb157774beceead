"""Sessions of agents: listed, followed as chains and reconstructed; ``vault.sessions``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.accessor import Accessor
from lamina.results import Results
from lamina_engine.clock import Instant
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from lamina.options import ChainDirection, KeepEnd, ProfileName, StoryMode, Where
    from lamina_engine.results import Chunk, Reconstruction, Session, Story


class Sessions(Accessor):
    """Sessions of a vault. Call it to list them: ``vault.sessions()``.

    Examples
    --------
    >>> [(session.session, session.chunks) for session in vault.sessions()]
    [('s1', 2)]
    """

    def __call__(
        self,
        project: str | None = None,
        *,
        agent: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        days: float | None = None,
        limit: int | None = 30,
        now: Instant | None = None,
        tz: str | None = None,
    ) -> Results[Session]:
        """Return the sessions of the vault, newest first.

        Parameters
        ----------
        project, agent : str, optional
            Only chunks of this project or agent.
        since, until : date, optional
            Only chunks with since <= created_at < until.
        days : float, optional
            Only the last days before ``now``.
        limit : int, optional
            Maximum number of sessions; None for all.
        now : date, optional
            End of ``days``; the time of the clock by default.
        tz : str, optional
            Time zone of naive dates in this call; the vault's by default.

        Returns
        -------
        Results of Session

        Raises
        ------
        InvalidArgument
        """
        from lamina_engine.recall.sessions import TimeRange, list_sessions
        from lamina_engine.results import Session

        window = TimeRange(since, until, days, now, tz)
        return Results(
            list_sessions(self._memory, window, limit, project=project, agent=agent), Session, self._memory.incomplete
        )

    def handoff(self, session: str | None = None, *, project: str | None = None) -> Results[Chunk]:
        """Return the handoff of a session, then its insights; empty where it left none.

        Whenever a transcript is read, both are derived from it without a model: what was asked, done, decided and left open,
        the files, what failed and what mended it. One that a person or an agent wrote for the session (a chunk of type
        ``agent_handoff`` or ``agent_insight`` with its ``session``) stands in place of the derived ones, whose metadata has
        ``derived``.

        Parameters
        ----------
        session : str, optional
            Name of the session, or a beginning of 4 characters or more; by default the newest one.
        project : str, optional
            Only sessions of this project.

        Returns
        -------
        Results of Chunk

        Raises
        ------
        InvalidArgument, AmbiguousId
        SessionNotFound
            When there is no such session. A `ChunkNotFound`.

        Examples
        --------
        >>> len(vault.sessions.handoff("s1"))
        0
        """
        from lamina_engine.recall.sessions import find_handoff
        from lamina_engine.results import Chunk

        return Results(find_handoff(self._memory, session, project), Chunk, self._memory.incomplete)

    def chain(
        self,
        query: str | Sequence[str] | None = None,
        direction: ChainDirection = "backward",
        token_budget: int = 20_000,
        *,
        seeds: Sequence[str] | None = None,
        agent: str | None = None,
        where: Where | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        as_of: Instant | None = None,
        now: Instant | None = None,
        vector: ArrayLike | None = None,
        profile: ProfileName | str = "episodic",
        tz: str | None = None,
    ) -> Story:
        """Return the chain of chunks that led to a hit of a question, or that followed from it.

        Chains begin at the first hits and follow the links of sessions and documents. The chain whose chunks have the
        highest median match with the question is returned. Where no chain has two chunks, the answer is a search, and
        ``reason`` says why.

        Parameters
        ----------
        query : str or sequence of str
            A question; or ids to begin with.
        direction : {"backward", "forward"}
            What led to the hit, or what came next.
        token_budget : int
            Maximum number of tokens of the chain's texts.
        seeds : sequence of str, optional
            Ids to begin with, in place of the hits of the question. Chunks are matched with the question where there is
            one, else with the seeds.
        agent : str, optional
            Only chunks of this agent; up to five chunks of others in a row are passed. A sub-agent
            ``claude-code/reviewer`` is also known as ``reviewer``.
        where, since, until, as_of, now, vector, tz
            As in `lamina.Vault.recall`, to choose the hits. Chains follow links without a filter.
        profile : str
            Its ``chains`` set the limits of the walk.

        Returns
        -------
        Story

        Raises
        ------
        InvalidArgument, InvalidConfig, ChunkNotFound, AmbiguousId, EmbedderMismatch, EmbeddingError, VaultCorrupt

        Examples
        --------
        >>> vault.chain("PgBouncer connections").mode in ("chain", "search")
        True
        """
        from lamina_engine.recall.stories import chain

        if query is not None and not isinstance(query, str):
            if seeds is not None:
                raise InvalidArgument("query holds ids and seeds was given too; give ids once")
            query, seeds = None, list(query) if isinstance(query, Sequence) else query
        return chain(
            self._memory, query, seeds=seeds, direction=direction, token_budget=token_budget, agent=agent,
            profile=profile, vector=vector, as_of=as_of, where=where, since=since, until=until, now=now, tz=tz,
        )  # fmt: skip

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
        mode: StoryMode = "timeline",
        keep: KeepEnd = "newest",
        token_budget: int = 4_000,
        as_of: Instant | None = None,
        now: Instant | None = None,
        tz: str | None = None,
    ) -> Reconstruction:
        """Return a session, or a span of days, as one text within a token budget.

        Parameters
        ----------
        session : str, optional
            Name of the session; with ``previous``, the session before it in its project.
        since, until : date, optional
            Only chunks with since <= created_at < until.
        days : float, optional
            Only the last days before ``now``.
        previous : bool
            The session before ``session``, or the last one (of ``project``).
        project, agent : str, optional
            Only chunks of this project or agent.
        mode : {"timeline", "briefing"}
            Whole chunks in order and without gaps; or a paragraph for each of the last three sessions, followed by the
            newest chunks.
        keep : {"newest", "oldest"}
            Which end of a timeline stays where the budget is short.
        token_budget : int
            Maximum number of tokens of the text.
        as_of, now, tz
            As in `lamina.Vault.recall`.

        Returns
        -------
        Reconstruction

        Raises
        ------
        InvalidArgument
        SessionNotFound
            When no selected chunk belongs to the session, or no session came before it. A `ChunkNotFound`.

        Examples
        --------
        >>> len(vault.reconstruct("s1").chunks)
        2
        """
        from lamina_engine.recall.reconstruction import ReconstructionOptions, reconstruct
        from lamina_engine.recall.sessions import TimeRange

        return reconstruct(
            self._memory, session, TimeRange(since, until, days, now, tz),
            ReconstructionOptions(mode, keep, token_budget), previous=previous, as_of=as_of, project=project, agent=agent,
        )  # fmt: skip
