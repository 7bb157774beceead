"""Notes on a session as its events come: requests, replies, changes, commands, decisions."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Any, Final

import msgspec

from lamina_engine.expressions import late
from lamina_engine.sessions import cues
from lamina_engine.sessions.decisions import Decisions, Remark, chosen_options
from lamina_engine.sessions.echoes import find_echoes, settles
from lamina_engine.sessions.events import Event
from lamina_engine.sessions.outcomes import SHELLS, command_parts, is_check, shorten, signature, tells_failure
from lamina_engine.sessions.pasted import own_words

EDITORS: Final = frozenset(
    {"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "str_replace_editor", "write_file"}
)
"""Tools that change files."""
_OBJECTION: Final = late(r"(?:no|nope|wait|actually|hm+|not? so|stop|don['\u2019]?t|instead|rather)\b", re.IGNORECASE)
_NUMBER: Final = late(r"\d+(?!\w)(?!.*\b(?:wait|hm+|no)\b)", re.DOTALL)
_COMMIT: Final = late(r"\bgit\b.*\bcommit\b")
_MESSAGE: Final = late(
    r"(?:-[a-zA-Z]*m|--message)[ =]?(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')|<<-?\s*['\"]?(\w+)['\"]?\n(.*?)\n\s*\3",
    re.DOTALL,
)
_PUBLISHED: Final = late(
    r"^(?:git push\b|gh (?:pr|release) create\b|npm publish\b|cargo publish\b|twine upload\b|glab mr create\b)"
)
_HANDED: Final = late(r"\blamina add\b.*--type[= ]['\"]?(?:agent_)?handoff")
_ANSWERED: Final = late(r'"([^"\n]{3,300})"\s*=\s*"([^"\n]{1,200})"')
_REFUSED: Final = late(
    r"The user doesn't want to (?:proceed|take this action)|rejected by (?:the )?user", re.IGNORECASE
)
_REASON_GIVEN: Final = late(r"(?:the user said|reason)[^\n:]*:\s*(.+)", re.IGNORECASE | re.DOTALL)

_MOST: Final = 400  # of each list: a session of a week has bounds, too
_SAID_CHARS: Final = 20_000
_TYPED_CHARS: Final = 4_000
"""Of a request: what is longer was pasted, and is not the person's word."""
_KEPT_REMARKS: Final = 4
_REASON_CHARS: Final = 160
"""Of the sentence before a decision: a longer one is no reason for it."""
_short: Final = partial(shorten, most=100)
"""A command, as it is told of."""
_TELLING_CHARS: Final = 120
"""A shorter reply to "thanks" or "run it again" does not take the place of the reply to the request before."""


class Ask(msgspec.Struct):
    """A request of the person, and the last reply to it."""

    turn: int
    text: str
    reply: str = ""
    has_worked: bool = False
    """True where files were changed for it."""
    followed: list[str] = []
    """What the person said to that reply, and asked nothing with."""


class Failure(msgspec.Struct):
    """A command that failed, until it ran well again."""

    turn: int
    place: int
    command: str
    name: str
    targets: frozenset[str]
    error: str
    at_us: int | None
    """Of its mend, once there is one."""
    times: int = 1
    edited: dict[str, None] = {}
    remarks: list[str] = []
    """What the agent said since."""
    commands: list[str] = []
    """What was run since and went well."""
    mended: bool = False


class SessionNotes:
    """Notes on one thread; its secrets are masked already."""

    def __init__(self) -> None:
        self.asks: list[Ask] = []
        self._decisions = Decisions()
        self._instruction: Remark | None = None
        """A prompt that says how to do what the agent found: a decision, once an edit follows."""
        self.summary = ""
        """The agent's own, of what a compaction took away."""
        self.rules: list[Remark] = []
        self.put_off: list[Remark] = []
        self.edits: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.checks: dict[str, tuple[bool, str]] = {}
        """By command, whether it failed the last time, and the line that sums that up."""
        self.delivered: list[str] = []
        """Commits, pushes, requests."""
        self.todos: list[tuple[str, str]] = []
        """Status and text of each entry of the agent's own list, as it stood last."""
        self.findings: list[tuple[str, str]] = []
        """What other agents were called for, and what they answered."""
        self.replies: list[str] = []
        """The last replies, each of its turn."""
        self.commands = 0
        self.branch: str | None = None
        self.has_written = False
        """True where the agent itself put a handoff into the vault."""
        self.started: str | None = None
        self.started_us: int | None = None
        self.ended: str | None = None
        self.ended_us: int | None = None
        self.is_answered = True
        """False where the person's last words have no reply."""
        self.is_interrupted = False
        self._now_us: int | None = None
        self._turn = -1
        self._places = 0
        self._put: set[str] = set()
        """Words that the edits of this turn put into files."""
        self._told = ""
        """What the person typed last, for the values that the reply repeats."""
        self.question = ""
        """Asked by the agent, and not answered yet."""
        self._tools: dict[str, tuple[str, str, str]] = {}
        self._tasks: dict[str, tuple[str, str]] = {}
        self._just_mended: list[Failure] = []

    def add(self, event: Event) -> None:
        """Take an event."""
        if event.at is not None:
            if self.started is None:
                self.started, self.started_us = event.at, event.at_us
            self._now_us = event.at_us
            if event.at_us is not None and (self.ended_us is None or event.at_us >= self.ended_us):
                self.ended, self.ended_us = event.at, event.at_us
        if event.facts and "branch" in event.facts:
            self.branch = event.facts["branch"]
        if event.kind == "user":
            self._ask(event.text)
        elif event.kind == "said":
            self._reply(event.text)
        elif event.kind == "tool":
            self._tool(event)
        elif event.kind == "result":
            self._result(event)
        elif event.kind == "summary":
            self.summary = event.text[:_SAID_CHARS]
        elif event.kind == "touch" and event.facts and event.facts.get("interrupted"):
            self.is_interrupted = True

    @property
    def decisions(self) -> list[Remark]:
        """Return the decisions that stand."""
        return self._decisions.standing

    @property
    def open_calls(self) -> list[str]:
        """Tools and commands that had no result."""
        return [f"{name}: {text}" if text else name for name, text, _ in self._tools.values()]

    # ------------------------------------------------------------------ what was said

    def _ask(self, typed: str) -> None:
        self._turn += 1
        self.is_interrupted = False
        text = cues.plain_prompt(typed)
        if not text:
            return
        own = self._told = own_words(text[:_TYPED_CHARS])
        self._tools.clear()
        self._put.clear()
        self._just_mended = []
        question, self.question = self.question, ""
        reply = self.replies[-1] if self.replies else ""
        is_all_said = own.split() == text[:_TYPED_CHARS].split()
        said_before = reply if is_all_said else ""  # what is pasted is news: who sends it answers no suggestion
        chosen = chosen_options(own, reply)
        finding = chosen or ("" if _OBJECTION.match(text) or cues.opens_matter(text) else self._finding())
        is_answer = is_all_said or cues.is_substantial(own)
        if question and is_answer and 0 < len(answer := next(iter(cues.sentences(own)), "")) <= 160:
            self._decide(f"{question} → {answer}", by_user=True)
        is_agreed = False
        if self.replies:
            number = _NUMBER.match(own)
            for proposal in [*cues.proposals(self.replies[-1])][-2:]:
                if cues.agrees(own) or (number is not None and number[0] in proposal.split()):
                    self._decide(proposal, by_user=False)
                    is_agreed = True
        if not chosen and finding and self.asks and cues.named_option(own, cues.alternatives(self.asks[-1].text)):
            chosen = finding
        if not cues.is_substantial(text):
            if chosen:
                self._follow(self._make_remark(own, by_user=True, finding=chosen))
            elif not is_agreed and cues.is_user_decision(own) and cues.names_something(own):
                self._decide(own, by_user=True, finding=finding)
            elif finding and not is_agreed and cues.instructs(own, said_before):
                self._instruction = self._make_remark(own, by_user=True, finding=finding)
            self.is_answered = self.is_answered and not text.startswith("continue")
            self._follow_up(own)
            return
        is_aside = bool(self.asks) and cues.is_aside(own)
        self.is_answered = self.is_answered and is_aside
        if _OBJECTION.match(text):
            self._decisions.overrule(text, self._turn, is_answer=bool(question))
        talk = [ask.text for ask in self.asks[-1:]] + self.replies[-2:]
        if is_aside:
            self._follow_up(own)
        elif len(self.asks) < _MOST:
            self.asks.append(Ask(self._turn, text[:_SAID_CHARS]))
        self._read_sentences(own, finding, talk)
        instruction = self._make_remark(own, by_user=True, finding=finding)
        if chosen:
            self._follow(instruction)
        elif finding and cues.instructs(own, said_before):
            self._instruction = instruction

    def _follow_up(self, said: str) -> None:
        if self.asks:
            self.asks[-1].followed = [*self.asks[-1].followed[-(_KEPT_REMARKS - 1) :], said]

    def _read_sentences(self, text: str, finding: str, talk: list[str]) -> None:
        """Note what the sentences of a prompt settle, put off, take back."""
        before = told = ""
        for sentence, after in cues.sentences_with_next(text):
            if sentence == told:
                continue
            reason, before = before, "" if cues.has_second_thought(sentence) or sentence.endswith("?") else sentence
            whole = f"{reason} {sentence}" if 0 < len(reason) <= _REASON_CHARS else sentence
            if cues.is_reversal(sentence) and cues.says_instead(after):
                whole, told = f"{whole} {after}", after
            remark = self._make_remark(whole, by_user=True, finding=finding)
            if self._decisions.withdraw(sentence, text, remark, talk, self.put_off):
                continue
            if len(sentence) < 12 or len(sentence) > 600:
                continue
            if cues.is_rule(sentence):
                self._remark(self.rules, sentence)
            elif cues.is_put_off(sentence) or cues.marks_open(sentence):
                is_told = (
                    0 < len(reason) <= _REASON_CHARS and cues.points_back(sentence) and cues.names_something(reason)
                )
                left = "" if is_told else " ".join([*cues.open_points(self.replies[-1])][-2:]) if finding else ""
                told_of = "" if is_told else left or finding
                self._remark(self.put_off, whole if is_told else sentence, finding=told_of)
            elif cues.is_user_decision(sentence):
                settled = cues.after_second_thought(sentence, after)
                is_whole = settled == sentence or settled.endswith(f": {after}")
                self._decide(
                    f"{reason} {settled}" if 0 < len(reason) <= _REASON_CHARS and is_whole else settled,
                    by_user=True, finding=finding,
                )  # fmt: skip

    def _finding(self) -> str:
        """Return what the agent said last, in a sentence or two."""
        said = (
            [each for each in cues.sentences(self.replies[-1]) if not each.endswith(("?", ":"))] if self.replies else []
        )
        found = ""
        for sentence in reversed(said):
            if len(found) + len(sentence) > _REASON_CHARS:
                break
            found = f"{sentence} {found}".strip()
        return found or (said[-1] if said and len(said[-1]) <= 2 * _REASON_CHARS else "")

    def _reply(self, text: str) -> None:
        text = text[:_SAID_CHARS]
        self.is_answered, self.is_interrupted = True, False
        if self.asks and (self.asks[-1].turn == self._turn or len(text) >= _TELLING_CHARS):
            self.asks[-1].reply, self.asks[-1].followed = text, []
        self.question = cues.closing_question(text)
        self.replies = [*self.replies[-(_KEPT_REMARKS - 1) :], text]
        for failure in (*(f for f in self.failures if not f.mended), *self._just_mended):
            failure.remarks = [*failure.remarks[-(_KEPT_REMARKS - 1) :], text]
        self._just_mended = []
        for sentence, echo in find_echoes(self._told, text):
            self._take_echo(sentence, echo)
        for sentence in cues.sentences(text) if cues.may_decide(text) else ():
            if 20 <= len(sentence) <= 500 and cues.is_agent_decision(sentence):
                self._decide(sentence, by_user=False)

    def _take_echo(self, sentence: str, echo: str) -> None:
        """Keep what the agent repeats of the person's words, and what is settled by that."""
        if self._decisions.confirm(self._turn, sentence, echo):
            return
        is_told = any(sentence in each.text for each in (*self.rules, *self.put_off))
        if not is_told and settles(sentence, echo, self._put):
            self._decisions.decide(msgspec.structs.replace(self._make_remark(sentence, by_user=True), echo=echo))

    def _decide(self, text: str, *, by_user: bool, finding: str = "") -> None:
        self._decisions.decide(self._make_remark(text, by_user=by_user, finding=finding))

    def _make_remark(self, text: str, *, by_user: bool, finding: str = "") -> Remark:
        told = finding if finding and cues.refers_to(text, finding, self.replies[-1]) else ""
        return Remark(self._turn, self._place(), by_user, text, self._now_us, told)

    def _remark(self, remarks: list[Remark], text: str, *, finding: str = "") -> None:
        """Keep what a person said among the remarks of one kind."""
        if len(remarks) < _MOST and all(known.text != text for known in remarks):
            remarks.append(self._make_remark(text, by_user=True, finding=finding))

    def _place(self) -> int:
        self._places += 1
        return self._places

    # ------------------------------------------------------------------ what was done

    def _tool(self, event: Event) -> None:
        facts: dict[str, Any] = event.facts or {}
        name = event.name or "tool"
        self._tools[event.ref or f"#{len(self._tools)}"] = (name, event.text, str(facts.get("about") or ""))
        if len(self._tools) > _MOST:
            self._tools.pop(next(iter(self._tools)))
        self.has_written = self.has_written or bool(facts.get("handoff")) or _HANDED.search(event.text) is not None
        if name in EDITORS or facts.get("files"):
            if self._instruction is not None and self._instruction.turn == self._turn:
                self._follow(self._instruction)
            self._instruction = None
            if self.asks:
                self.asks[-1].has_worked = True
            # what a person says is open is a request, where the agent sets about it
            self.put_off = [each for each in self.put_off if each.turn != self._turn or cues.is_put_off(each.text)]
            if "changed" in facts:
                self._decisions.note_edit(self._turn, *facts["changed"])
                self._put.update(facts["changed"][0])
            for file in facts.get("files") or ([facts["file"]] if "file" in facts else []):
                self.edits[file] += 1
                for failure in self.failures:
                    if not failure.mended:
                        failure.edited[file] = None
        if "todos" in facts:
            self.todos = [(status, text) for status, text in facts["todos"]]
        if "task" in facts:
            self._note_task(*facts["task"])

    def _follow(self, instruction: Remark) -> None:
        """Keep an instruction that an edit follows, but for what its sentences have settled already."""
        known = [each for each in self.decisions if each.turn == instruction.turn and each.by_user]
        if not known:
            rules = {rule.text for rule in self.rules if rule.turn == instruction.turn}
            said = [each for each in cues.sentences(instruction.text) if each not in rules]
            self._decisions.decide(msgspec.structs.replace(instruction, text=" ".join(said)) if said else instruction)

    def _note_task(self, key: str, status: str, text: str) -> None:
        """Keep an agent's list that is written entry by entry, as newer programs do."""
        if not key:
            key = str(len(self._tasks) + 1)
        before = self._tasks.get(key, ("pending", ""))
        self._tasks[key] = (status or before[0], text or before[1])
        self.todos = [task for task in self._tasks.values() if task[1] and task[0] != "deleted"]

    def _result(self, event: Event) -> None:
        facts: dict[str, Any] = event.facts or {}
        key = event.ref if event.ref in self._tools else next(iter(self._tools), None) if event.ref is None else None
        name, command, about = self._tools.pop(key) if key is not None else (event.name or "", "", "")
        if name == "AskUserQuestion":
            for question, answer in _ANSWERED.findall(event.text):
                self._decide(f"{question} {answer}", by_user=True)
            return
        if "user" in (begin := event.text[:400]).lower() and _REFUSED.search(begin):
            given = _REASON_GIVEN.search(event.text)
            if given is not None and given[1].strip():
                self._decide(given[1].strip()[:300], by_user=True)
            return
        if "returned" in facts and event.text.strip() and len(self.findings) < _MOST:
            self.findings.append((about, event.text))
        parts = command_parts(command) if name in SHELLS else []
        if parts:
            self._run(parts, command, facts)

    def _run(self, parts: list[str], command: str, facts: dict[str, Any]) -> None:
        """Note a command that was run: the last of its parts is the one that failed, where one did."""
        self.commands += 1
        self._decisions.note_command(self._turn, command)
        failed = bool(facts.get("failed")) or (bool(facts.get("suspect")) and any(map(is_check, parts)))
        error, verdict = str(facts.get("error") or ""), str(facts.get("verdict") or "")
        checked = next((part for part in parts if is_check(part)), None)
        went_on = checked is not None and not is_check(parts[-1]) and bool(verdict) and not tells_failure(verdict)
        if checked is not None:
            self.checks.pop(_short(checked), None)
            self.checks[_short(checked)] = (failed and not went_on, error if failed and not verdict else verdict)
        if failed:  # after a check that passed, what was published is likelier to have failed than a look around
            rest = next((part for part in reversed(parts) if _PUBLISHED.match(part)), parts[-1])
            self._note_failure(rest if went_on or checked is None else checked, error)
            return
        for part in parts:
            name, targets = signature(part)
            for failure in self.failures:
                if failure.mended:
                    continue
                if failure.name == name and (not targets or not failure.targets or targets & failure.targets):
                    failure.mended, failure.at_us = True, self._now_us
                    self._just_mended.append(failure)
                    if self.checks.get(failure.command, (False, ""))[0]:
                        del self.checks[failure.command]  # a wider run passed since
                elif len(failure.commands) < 20 and not is_check(part):
                    failure.commands.append(_short(part))
        self._note_delivery(parts, command)

    def _note_failure(self, part: str, error: str) -> None:
        name, targets = signature(part)
        for failure in self.failures:
            if not failure.mended and failure.name == name and failure.targets == targets:
                if failure.edited and error and failure.error and error != failure.error:
                    failure.mended, failure.at_us = True, self._now_us  # what fails now is something else
                    break
                failure.times += 1
                failure.error, failure.turn = error or failure.error, self._turn
                return
        if len(self.failures) < _MOST:
            self.failures.append(Failure(self._turn, self._place(), _short(part), name, targets, error, self._now_us))

    def _note_delivery(self, parts: list[str], command: str) -> None:
        if len(self.delivered) >= _MOST:
            return
        if _COMMIT.search(command):
            found = _MESSAGE.search(command)
            message = (found[1] or found[2] or found[4] or "").strip() if found is not None else ""
            first = next((line.strip() for line in message.splitlines() if line.strip() and "$(cat" not in line), "")
            self.delivered.append(f"committed: {first}" if first else "committed")
        for part in parts:
            if _PUBLISHED.match(part):
                self.delivered.append(_short(part))
