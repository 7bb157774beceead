"""Context blocks for agents, at the start of a session and at each turn; ``vault.context``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina.accessor import Accessor
from lamina_engine.arguments import path_of, text_of
from lamina_engine.clock import Instant
from lamina_engine.errors import InvalidArgument, describe_value

if TYPE_CHECKING:
    from lamina.options import PathLike, Trigger
    from lamina_engine.context.rendering import ContextBlock


class Context(Accessor):
    """Context for agents; ``vault.bootstrap`` and ``vault.inject`` are its two calls."""

    def bootstrap(
        self,
        session: str | None = None,
        budget: int | None = None,
        *,
        project: str | None = None,
        agent: str | None = None,
        repo: PathLike | None = None,
        now: Instant | None = None,
        trigger: Trigger = "startup",
    ) -> ContextBlock:
        """Return the block that begins a session: last handoff, work, decisions, changes.

        Parameters
        ----------
        session : str, optional
            Name of the session; `turn` does not repeat in it what this block contains.
        budget : int, optional
            Tokens of the whole block, wrapper included; ``BOOTSTRAP_TOKEN_BUDGET`` (2,500) by default. Parts come in
            this order: what is pinned; the last handoff, cut at a heading where it is long; the last session, where
            there is no handoff or an older one; the work in hand, and points of sessions before the last one that no
            later session spoke of; decisions and insights, one of each source, and with each what it took back;
            what changed since. Each may use what those after it leave of 800 (handoff), 200 (work), 600 and 600.
        project, agent : str, optional
            Only chunks of this project; only handoffs of this agent. Without ``project`` it is that of the session, else
            that which ``repo`` is named after, where the vault knows it; then chunks without a project belong to it too.
        repo : path, optional
            A git work tree whose commits and merges since the handoff or the last session are listed.
        now : date, optional
            The moment to which ages are counted; the time of the clock by default.
        trigger : {"startup", "resume", "compact", "clear"}
            Reason of the start. After ``compact`` and ``clear`` the session has lost what it saw, and may see it again.

        Returns
        -------
        ContextBlock
            ``text`` (for the agent), ``tokens``, ``items``, ``components``. Over a vault that has none of these parts, an
            overview: its extent, its folders, what changed last. Empty where the vault is empty, the session has seen it
            all, ``INJECTION_ENABLED`` is false, or an error occurred, which is logged.

        Raises
        ------
        InvalidArgument

        Notes
        -----
        Tokens are an upper bound: no text has more by ``cl100k_base`` or by the bundled tokenizer.

        Examples
        --------
        >>> block = vault.context.bootstrap("s2", budget=400)
        >>> block.tokens <= 400
        True
        """
        from lamina_engine.context.bootstrap import bootstrap

        return bootstrap(
            self._memory, session, budget=budget, project=text_of(project, "project"), agent=text_of(agent, "agent"), now=now,
            trigger=trigger,
            repo=None if repo is None else path_of(repo, "repo"),
        )  # fmt: skip

    def turn(
        self,
        prompt: str,
        session: str | None,
        floor: int | None = None,
        ceiling: int | None = None,
        *,
        project: str | None = None,
        repo: PathLike | None = None,
        now: Instant | None = None,
    ) -> ContextBlock:
        """Return the block for one prompt: facts and memories about it, and the active task.

        Parameters
        ----------
        prompt : str
            The user's message, rated as a whole. A blank one, a slash command, and one that names nothing a
            memory could be about ("commit this") get an empty block; "continue where we left off" gets the active task.
        session : str or None
            Name of the session; no memory is shown twice in one session. None for a look at what a new session would be
            told: no line is written.
        floor, ceiling : int, optional
            Bounds of the token budget; ``INJECTION_BUDGET_FLOOR`` (500) and ``INJECTION_BUDGET_CEILING`` (1,500) by
            default.
        project : str, optional
            Only chunks of this project. Without it, as for `bootstrap`; another project that the prompt names is asked
            too, and of one's own then only what names it is told.
        repo : path, optional
            The folder that the agent works in, by which its project is known.
        now : date, optional
            The moment to which ages are counted; the time of the clock by default.

        Returns
        -------
        ContextBlock
            Empty where nothing is close enough, ``INJECTION_ENABLED`` is false, or an error occurred, which is logged.

        Raises
        ------
        InvalidArgument

        Notes
        -----
        Each turn adds a line with ids and numbers, without text, to the session's journal in the vault; `forget` reaches
        it.

        Examples
        --------
        >>> vault.context.turn("/help", "s2").text
        ''
        """
        from lamina_engine.context.turn import inject

        return inject(
            self._memory, prompt, session, floor=floor, ceiling=ceiling, project=text_of(project, "project"), now=now,
            repo=None if repo is None else path_of(repo, "repo"),
        )  # fmt: skip

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text, as budgets of blocks count them.

        Raises
        ------
        InvalidArgument

        Examples
        --------
        >>> vault.context.count_tokens("We moved to PostgreSQL 16.") > 3
        True
        """
        from lamina_engine.context.tokens import count_tokens

        if not isinstance(text, str):
            raise InvalidArgument(f"{describe_value('text', text)}; give the text whose tokens are counted")
        return count_tokens(text)
