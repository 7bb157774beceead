"""What an agent should be told, at the start of a session and with each turn; a part of `lamina.Vault`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from lamina_engine.arguments import path_of

if TYPE_CHECKING:
    from lamina_engine.clock import Instant
    from lamina_engine.context.block import ContextBlock


class Contextual:
    """Context for agents."""

    _memory: Any

    def bootstrap(
        self,
        session: str | None = None,
        budget: int | None = None,
        *,
        project: str | None = None,
        agent: str | None = None,
        repo: str | os.PathLike[str] | None = None,
        now: Instant | None = None,
        trigger: Literal["startup", "resume", "compact", "clear"] = "startup",
    ) -> ContextBlock:
        """Return what an agent should know when a session begins: the last handoff, insights, and what changed since.

        Parameters
        ----------
        session : str, optional
            The session's name: what it is given here is not repeated by `inject`.
        budget : int, optional
            Tokens of the whole block, wrapper included; ``BOOTSTRAP_TOKEN_BUDGET`` (2,500) unless given. The handoff may
            use 800 of 2,500, insights 600, changes 600, and each what those before it left; the rest is shared.
        project, agent : str, optional
            Only what belongs to them.
        repo : path, optional
            A git work tree, whose commits and merges since the handoff are told too.
        now : date, optional
            The moment ages count to; the clock's time unless given.
        trigger : {"startup", "resume", "compact", "clear"}
            Why it begins. After ``compact`` and ``clear`` the session has lost what it was given, and may be given it again.

        Returns
        -------
        ContextBlock
            ``text`` (for the agent), ``tokens``, ``items``, ``components``. Empty where there is nothing to say,
            ``INJECTION_ENABLED`` is false, or something went wrong, which is logged.

        Raises
        ------
        InvalidArgument
        """
        from lamina_engine.context.bootstrap import bootstrap

        return bootstrap(
            self._memory, session, budget=budget, project=project, agent=agent, now=now, trigger=trigger,
            repo=None if repo is None else path_of(repo, "repo"),
        )  # fmt: skip

    def inject(
        self,
        prompt: str,
        session: str,
        floor: int | None = None,
        ceiling: int | None = None,
        *,
        project: str | None = None,
        now: Instant | None = None,
    ) -> ContextBlock:
        """Return what an agent should see with a prompt, if anything: memories near to it, and its active task.

        Parameters
        ----------
        prompt : str
            What the user said. A blank one, or a slash command, gets nothing.
        session : str
            The session's name: nothing is told twice in a session.
        floor, ceiling : int, optional
            Tokens between which the budget moves; ``INJECTION_BUDGET_FLOOR`` (500) and ``INJECTION_BUDGET_CEILING``
            (1,500) unless given.
        project : str, optional
            Only what belongs to it.
        now : date, optional
            The moment ages count to; the clock's time unless given.

        Returns
        -------
        ContextBlock
            Empty where the vault knows nothing near enough, ``INJECTION_ENABLED`` is false, or something went wrong,
            which is logged.

        Raises
        ------
        InvalidArgument

        Notes
        -----
        Each turn adds a line to the session's journal in the vault, with ids and numbers and no text; `forget` reaches it.
        """
        from lamina_engine.context.turn import inject

        return inject(self._memory, prompt, session, floor=floor, ceiling=ceiling, project=project, now=now)
