"""Decisions of a session: what was settled, and what was given up later, in whatever words.

People rarely name what they give up: "let's do without that native library after all". What they mean is found by what the
sentence names, by what the talk before it was about, and by edits: a change that takes out what the edits of a decision
had put in undoes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from lamina_engine.sessions import cues
from lamina_engine.sessions.replacements import Statement, read_values

_UNDONE: Final = 0.5
"""Share of what the edits of a decision had put in that later ones took out."""
_MOST: Final = 400
_REASON_CHARS: Final = 160


class Remark(msgspec.Struct, frozen=True):
    """A sentence worth keeping."""

    turn: int
    place: int
    """Its number among the session's remarks: it stays when the session grows."""
    by_user: bool
    text: str
    at_us: int | None
    finding: str = ""
    """What the agent had said, to which it answers."""
    drops: str = ""
    """An earlier decision that it takes back."""
    echo: str = ""
    """What the agent said then, with its value: "make it 14 days" does not name its thing."""


class _Traces(msgspec.Struct):
    """Words that a decision's edits put into files, and those that later ones took out."""

    put: set[str] = set()
    taken: set[str] = set()


class Decisions:
    """Decisions as they stand."""

    def __init__(self) -> None:
        self.standing: list[Remark] = []
        self._statements: dict[int, Statement] = {}
        self._traces: dict[int, _Traces] = {}
        self._reversal: Remark | None = None
        """Takes something back: what follows in its turn may say of what, and what else goes."""
        self._overruled = -1
        """The last turn whose first words took a decision back: what it gives up is known."""

    def decide(self, remark: Remark, *, drops: Remark | None = None) -> None:
        """Keep a decision; one that takes another one back takes its place."""
        if len(self.standing) >= _MOST or any(known.text == remark.text for known in self.standing):
            return
        drops = drops or self._find_replaced(remark)
        if drops is not None:
            remark = msgspec.structs.replace(remark, drops=drops.text)
            self._drop([drops])
        self.standing.append(remark)

    def _find_replaced(self, remark: Remark) -> Remark | None:
        """Return the last earlier decision that a remark replaces; an agent replaces no person's."""
        statement = self._statements[remark.place] = Statement(remark.text, remark.echo)
        for known in reversed(self.standing):
            may = known.turn < remark.turn and remark.by_user >= known.by_user
            if may and statement.replaces(self._statements[known.place]):
                return known
        return None

    def confirm(self, turn: int, sentence: str, echo: str) -> bool:
        """Keep what the agent repeats with the person's decision; False where there is none."""
        values = read_values(sentence) & read_values(echo)
        for place, known in enumerate(self.standing):
            if known.turn == turn and known.by_user and not values.isdisjoint(read_values(known.text)):
                if not known.echo:
                    self.standing[place] = msgspec.structs.replace(known, echo=echo)
                    self._statements[known.place] = Statement(known.text, echo)
                return True
        return False

    def withdraw(self, sentence: str, prompt: str, remark: Remark, talk: Sequence[str], put_off: list[Remark]) -> bool:
        """Drop what a sentence of a prompt gives up, settled or put off; return whether it does."""
        kept = cues.kept_words(sentence)
        named = cues.withdrawn_words(sentence) - (kept or set())
        known_so_far = [each for each in (*put_off, *self.standing) if not (kept and cues.confirms(kept, each.text))]
        earlier = [known for known in known_so_far if known.turn < remark.turn]
        if named:
            gone = [known for known in known_so_far if _gives_up(named, cues.own_words(cues.affirmed(known.text)))]
            put_off[:] = [known for known in put_off if known not in gone]
            self._drop(gone)
        if kept is None and not cues.is_reversal(sentence):
            return False
        if kept is None:
            meant = _named_in([" ".join(named) or sentence], earlier) or (
                _named_in(talk, earlier) if cues.points_back(prompt) and self._overruled != remark.turn else None
            )
        else:  # it confirms: what it may take back is a change to something else
            meant = _named_in([" ".join(named)], earlier) or _left_for_another(kept, earlier, talk)
        finding = _mention(talk, meant.text) if meant is not None else ""
        remark = msgspec.structs.replace(remark, finding=finding or remark.finding)
        self.decide(remark, drops=meant)
        self._reversal = remark
        return True

    def overrule(self, text: str, turn: int, *, is_answer: bool) -> None:
        """Drop what an objection takes back: the agent's last decision, or the person's own."""
        words = cues.own_words(text) - (cues.kept_words(text) or set())
        second_thought = not is_answer and cues.decides_otherwise(text)
        gone = [
            known for known in self.standing
            if known.turn == turn - 1 and (second_thought if known.by_user else bool(words & cues.own_words(known.text)))
        ]  # fmt: skip
        self._overruled = turn if gone else self._overruled
        self._drop(gone)

    def note_edit(self, turn: int, put: Collection[str], taken: Collection[str]) -> None:
        """Take note of the words that an edit put into files and took out of them."""
        for known in self.standing:
            traces = self._traces.setdefault(known.place, _Traces())
            if known.turn == turn:
                traces.put |= {*put}
            traces.taken -= {*put}
            traces.taken |= traces.put.intersection(taken) if known.turn < turn else set()
        undone = [known for known in self.standing if self._is_undone(known, turn)]
        self._answer_reversal(turn, undone)
        self._drop(undone)

    def note_command(self, turn: int, command: str) -> None:
        """Take note of a command that takes away what a person's words in this turn gave up."""
        if self._reversal is not None and self._reversal.turn == turn and cues.undoes(command):
            words = cues.own_words(command.replace("-", " ").replace("_", " "))
            named = [
                known
                for known in self.standing
                if known.turn < turn and words & cues.own_words(cues.affirmed(known.text))
            ]
            self._answer_reversal(turn, named[-1:])
            self._drop(named[-1:])

    def _answer_reversal(self, turn: int, undone: Sequence[Remark]) -> None:
        """Say of the words that took something back of what."""
        if undone and self._reversal is not None and self._reversal.turn == turn:
            self.standing = [
                msgspec.structs.replace(known, drops=undone[-1].text)
                if known.place == self._reversal.place and not known.drops
                else known
                for known in self.standing
            ]

    def _is_undone(self, known: Remark, turn: int) -> bool:
        """Return whether edits undid a decision: a word of it, or beside one that overruled none."""
        traces = self._traces[known.place]
        if known.turn >= turn or not traces.put or len(traces.taken) < _UNDONE * len(traces.put):
            return False
        return bool(traces.taken & cues.own_words(known.text)) or (
            self._overruled != turn and any(other.by_user and other.turn == turn for other in self.standing)
        )

    def _drop(self, gone: Sequence[Remark]) -> None:
        if gone:
            places = {known.place for known in gone}
            self.standing = [known for known in self.standing if known.place not in places]


def _gives_up(named: set[str], words: set[str]) -> bool:
    """Return whether what is given up is what some words say: "port 9000" is no other port."""
    numbers = {word for word in named if word[0].isdigit()}
    return numbers <= words and bool(named & words)


def _named_in(texts: Sequence[str], decisions: Sequence[Remark]) -> Remark | None:
    """Return the last decision that the newest of some texts names by a word of its own."""
    counts = Counter(word for known in decisions for word in cues.own_words(known.text))
    for text in reversed(texts):
        words = {word for word in cues.own_words(text) if counts[word] == 1}
        for known in reversed(decisions):
            if words & cues.own_words(cues.affirmed(known.text)):
                return known
    return None


def _left_for_another(kept: frozenset[str], decisions: Sequence[Remark], talk: Sequence[str]) -> Remark | None:
    """Return the last decision to leave what is kept, or to change to what the talk is about."""
    for known in reversed(decisions):
        changed_to = cues.changes_to(known.text)
        if cues.leaves(known.text, kept) or any(cues.names_any(text, changed_to) for text in talk):
            return known
    return None


def _mention(talk: Sequence[str], decision: str) -> str:
    """Return the last sentence of the talk that names a decision."""
    words = cues.own_words(decision)
    said = [
        each
        for text in talk
        for each in cues.sentences(text)
        if words & cues.own_words(each) and not each.endswith("?")
    ]
    return said[-1] if said and len(said[-1]) <= 2 * _REASON_CHARS else ""


def chosen_options(text: str, reply: str) -> str:
    """Return the options of a reply that a person's answer takes by their numbers or letters."""
    options = cues.options(reply)
    if not options:
        return ""
    taken = [options[key] for key in cues.taken_keys(text) if key in options]
    if not taken and (named := cues.named_option(text, options)):
        taken = [options[named]]
    return "; ".join(dict.fromkeys(taken))
