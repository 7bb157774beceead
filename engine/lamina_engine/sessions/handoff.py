"""Handoff and insights of a session, derived from its notes without a model.

The handoff is what somebody who goes on next morning reads first: the goal in the person's own words, what came of it, what
is left open and decided, the files, what failed. Insights outlast the session: standing rules, failures and what mended
them, decisions with their reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from os.path import commonpath
from typing import Final

import msgspec

from lamina_engine.chunks.handoffs import ECHO, HANDOFF, INSIGHT
from lamina_engine.clock import utc_datetime
from lamina_engine.sessions import cues
from lamina_engine.sessions.closures import Talk, is_closed
from lamina_engine.sessions.cutting import estimate_tokens
from lamina_engine.sessions.decisions import Remark
from lamina_engine.sessions.events import Thread
from lamina_engine.sessions.notes import Ask, Failure, SessionNotes

MOST_TOKENS: Final = 1_100
"""Of a handoff, in tokens of 3.5 characters."""
MOST_INSIGHTS: Final = 20
_MOST_ASKED: Final = 5
"""Requests of a session that its handoff tells."""
_RULES, _FAILURES, _DECISIONS = 3, 5, 12
"""Insights of each kind, the last of many."""
_GOAL, _ASKED, _ANSWER, _LAST, _POINT, _DECIDED, _SUMMARY = 420, 130, 170, 520, 220, 180, 1_200  # characters
_SHORT, _BARE = 100, 60
"""Characters of a decision, and of what is put off, that does not say of itself what it is about."""
_KEPT: Final = ("first:", "last reply:", "not finished:", "changed:")
"""Lines begin so that are not left out where all is too long."""
_SPARED: Final = {"Decided": 0.6}
"""Sections that give way later than their length says: what was decided is asked for first."""
_DONE: Final = frozenset({"completed", "done", "cancelled", "canceled"})
_FILLER: Final = re.compile(
    r"(?:perfect|great|excellent|done|good|ok(?:ay)?|sure|absolutely|you['\u2019]re (?:absolutely )?right|all (?:done|set|good)|got it|"
    r"understood|now|thanks|yes|no problem|wonderful|nice)\b[^.!:?]{0,30}[.!:]",
    re.IGNORECASE,
)


class Derived(msgspec.Struct, frozen=True):
    """A chunk derived from a session."""

    type: str
    turn: int
    place: int
    title: str
    text: str
    at_us: int | None
    """Of the session's end, or of the moment that an insight is of."""
    is_failure: bool = False
    """True for a failure and its mend, which the handoff names, too."""


def derive(thread: Thread, notes: SessionNotes) -> list[Derived]:
    """Return the handoff and the insights of a session; none where there is nothing to say."""
    if not _is_worth_it(notes):
        return []
    title = _quote(_goal(notes).text, 80)
    insights = _insights(thread, notes)
    if notes.has_written:
        return insights
    return [
        Derived(HANDOFF, 0, 0, f"Handoff: {title}", _write_handoff(thread, notes, title), notes.ended_us),
        *insights,
    ]


def _is_worth_it(notes: SessionNotes) -> bool:
    if not notes.asks:
        return False
    said = sum(len(ask.reply) for ask in notes.asks)
    worked = bool(notes.edits or notes.todos or notes.failures or notes.delivered or notes.findings)
    settled = bool(notes.decisions or notes.rules or notes.put_off) or cues.names_open_point(notes.asks[-1].reply)
    return worked or settled or (notes.commands > 0 and said >= 80) or (len(notes.asks) > 1 and said >= 400)


def _goal(notes: SessionNotes) -> Ask:
    """Return the first request that is one: a short opening gives way to what follows it."""
    return next((ask for ask in notes.asks[:3] if len(ask.text) >= 40 or ask.has_worked), notes.asks[0])


# ---------------------------------------------------------------------- handoff


def _write_handoff(thread: Thread, notes: SessionNotes, title: str) -> str:
    goal = _goal(notes)
    sections = [
        ("Goal", [_quote_words(goal.text, _GOAL)]),
        ("Outcome", list(_outcome(notes, goal))),
        ("Left open", list(_left_open(notes))),
        ("Decided", list(_decided(notes))),
        ("Before the compaction, in the agent's words", list(_summed_up(notes))),
        ("Files", list(_files(thread, notes))),
        ("Failures", list(_failures(notes))),
    ]
    head = [f"# Handoff: {title}", _facts_line(thread, notes)]
    while True:
        text = _render(head, sections)
        if estimate_tokens(len(text)) <= MOST_TOKENS:
            return text
        loose = [[line for line in lines if not line.startswith(_KEPT)] for _, lines in sections]
        lengths = [
            sum(map(len, lines)) * _SPARED.get(name, 1) if len(some) > 1 and lines else 0
            for lines, (name, some) in zip(loose, sections, strict=True)
        ]
        longest = max(range(len(sections)), key=lengths.__getitem__)
        if not lengths[longest]:
            return text
        some = [line for line in loose[longest] if line.startswith("asked:")] or loose[longest]
        sections[longest][1].remove(some[len(some) // 2])  # the first and the last of a list say most


def _render(head: Sequence[str], sections: Iterable[tuple[str, Sequence[str]]]) -> str:
    parts = ["\n".join(line for line in head if line)]
    for name, lines in sections:
        if lines:
            body = lines[0] if name == "Goal" else "\n".join(f"- {line}" for line in lines)
            parts.append(f"## {name}\n{body}")
    return "\n\n".join(parts)


def _facts_line(thread: Thread, notes: SessionNotes) -> str:
    start, end = _minute(notes.started_us), _minute(notes.ended_us)
    if start and end.startswith(start[:10]) and start != end:
        start, end = start.removesuffix("Z"), end[11:]
    span = " to ".join(filter(None, dict.fromkeys((start, end))))
    branch = notes.branch or thread.facts.get("branch")
    parts = (
        thread.project,
        span,
        f"branch {branch}" if branch and branch != "HEAD" else "",
        f"session {thread.session}",
    )
    return " · ".join(part for part in parts if part)


def _minute(us: int | None) -> str:
    """Return a moment in UTC: events of one session may be written in several zones."""
    moment = utc_datetime(us)
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%MZ}"


def _outcome(notes: SessionNotes, goal: Ask) -> Iterator[str]:
    """Yield requests with the gist of each answer, the last reply, commits, ends of checks."""
    if notes.open_calls or not (notes.is_answered or _is_put_off(notes)):
        yield f"not finished: {_ending(notes)}"
    elif notes.is_interrupted:
        yield "not finished: the person interrupted the agent"
    gone = [remark.drops for remark in notes.decisions if remark.drops]
    answered = list({
        ask.text: ask for ask in notes.asks if ask.reply and not any(dropped in " ".join(ask.text.split()) for dropped in gone)
    }.values())  # fmt: skip
    last = _last_reply(notes)
    for ask in _most_important(answered):
        gist = _gist(ask.reply)
        if ask is goal:
            if gist and ask.reply is not last:
                yield f"first: {gist}"
        elif ask.reply is last or not gist:
            yield f"asked: {_quote_words(ask.text, _ASKED)}"
        else:
            yield f"asked: {_quote_words(ask.text, _ASKED)} → {gist}"
    if last and (told := _excerpt(last, _LAST)):
        yield f"last reply: {told}"
    commits = list(dict.fromkeys(notes.delivered))
    if commits:
        yield "; ".join(_quote(commit, 90) for commit in commits[-4:])
    checks = [(name, *state) for name, state in notes.checks.items()][-2:]
    for name, failed, verdict in checks:
        yield f"`{name}`: {'failed' if failed else 'passed'}" + (f" ({_quote(verdict, 120)})" if verdict else "")


def _is_put_off(notes: SessionNotes) -> bool:
    """Return whether the last request leaves all that it names for later."""
    last = notes.asks[-1]
    return any(each.turn == last.turn and len(each.text) >= 0.8 * len(last.text) for each in notes.put_off)


def _ending(notes: SessionNotes) -> str:
    if notes.open_calls:
        return f"it broke off within {_quote(notes.open_calls[-1], 120)}"
    return f"the last request has no answer: {_quote_words(notes.asks[-1].text, _POINT)}"


def _last_reply(notes: SessionNotes) -> str:
    """Return the last reply that says something."""
    for reply in reversed(notes.replies):
        if len(cues.without_code(reply).strip()) >= 40 and not _FILLER.fullmatch(reply.strip()):
            return reply
    return notes.replies[-1] if notes.replies else ""


def _most_important(asks: Sequence[Ask]) -> list[Ask]:
    """Return five of some requests, in order: the first, the last two, and the longest."""
    ends = {0, len(asks) - 1, len(asks) - 2}
    ranked = sorted(range(len(asks)), key=lambda n: (n not in ends, -min(len(asks[n].text), 200), -n))
    return [asks[number] for number in sorted(ranked[:_MOST_ASKED])]


def _left_open(notes: SessionNotes) -> Iterator[str]:
    found: list[str] = [
        f"{_quote(text, _POINT)} ({status.replace('_', ' ')})" for status, text in notes.todos if status not in _DONE
    ]
    put_off = [_answering(remark, _POINT, _BARE) for remark in notes.put_off[-4:]]
    found += put_off
    last = (notes.asks[-1].reply if notes.is_answered else "") or _last_reply(notes)
    for ask in notes.asks[-3:-1]:
        if ask.reply is not last:
            found += _still_open(notes, ask.reply, cues.open_points(ask.reply, headed=True), put_off)
    found += _still_open(notes, last, cues.open_points(last), put_off)
    if notes.question:
        found.append(f"the agent asked: {_quote_words(notes.question, _POINT)}")
    for failure in notes.failures:
        if not failure.mended and failure.turn >= notes.asks[-1].turn - 3:
            found.append(
                f"`{failure.command}` still fails" + (f": {_quote(failure.error, 140)}" if failure.error else "")
            )
    yield from list(dict.fromkeys(found))[:7]


def _still_open(notes: SessionNotes, reply: str, named: Iterable[str], told: Sequence[str]) -> list[str]:
    """Return points of a reply that nobody closed in the session, and that are not told yet."""
    points = [*named]
    place = next((n for n, ask in enumerate(notes.asks) if ask.reply is reply), len(notes.asks) - 1)
    later = notes.asks[place + 1 :]
    typed = [*notes.asks[place].followed, *(text for ask in later for text in (ask.text, *ask.followed))]
    since = Talk(text for ask in later if ask.reply for text in (ask.text, ask.reply))
    return [
        _quote(left, _POINT) for point in points if (left := since.open_parts(point))
        and not any(is_closed(point, text, is_only=len(points) == 1) for text in typed)
        and not any(point in each for each in told)
    ]  # fmt: skip


def _decided(notes: SessionNotes) -> Iterator[str]:
    by_user = [remark for remark in notes.decisions if remark.by_user]
    by_agent = [remark for remark in notes.decisions if not remark.by_user]
    chosen = [*_ends(notes.rules, 2), *_ends(by_user, 12), *_ends(by_agent, 4)]
    for remark in sorted(chosen, key=lambda remark: remark.place):
        if not remark.by_user:
            yield f"the agent: {_quote(remark.text, _DECIDED)}"
        elif remark.drops:
            why = f"{_quote(remark.finding, _POINT)} → " if remark.finding else ""
            yield f"{why}{_quote_words(remark.text, _DECIDED)}, which takes back {_quote_words(remark.drops, 100)}"
        else:
            yield _answering(remark, _DECIDED, _SHORT)


def _answering(remark: Remark, most: int, short: int) -> str:
    """Return a person's words, and where they are short what they answer."""
    quoted = _quote_words(remark.text, most)
    return f"{_quote(remark.finding, _ASKED)} → {quoted}" if remark.finding and len(remark.text) < short else quoted


def _summed_up(notes: SessionNotes) -> Iterator[str]:
    """Yield points of the agent's own summary of what a compaction took away."""
    told = 0
    for point in cues.summary_points(notes.summary):
        quoted = _quote(point, _POINT)
        told += len(quoted)
        if told > _SUMMARY:
            return
        yield quoted


def _ends(remarks: Sequence[Remark], most: int) -> Sequence[Remark]:
    return remarks if len(remarks) <= most else [remarks[0], *remarks[len(remarks) - most + 1 :]]


def _files(thread: Thread, notes: SessionNotes) -> Iterator[str]:
    names = [(_relative(name, thread.facts.get("cwd")), count) for name, count in notes.edits.most_common(7)]
    if names:
        more = len(notes.edits) - len(names)
        listed = ", ".join(f"{name} ({count}×)" if count > 1 else name for name, count in names)
        yield f"changed: {listed}" + (f" and {more} more" if more > 0 else "")
    for about, answer in notes.findings[-2:]:
        gist = _excerpt(answer, _POINT)
        if gist:
            yield f"found by an agent{f' ({_quote(about, 60)})' if about else ''}: {gist}"


def _failures(notes: SessionNotes) -> Iterator[str]:
    told = [failure for failure in notes.failures if failure.error or failure.mended]
    ranked = sorted(told, key=lambda f: (f.mended, -f.times, -f.place))[:4]
    for failure in sorted(ranked, key=lambda f: f.place):
        error = f": {_quote(failure.error, 140)}" if failure.error else " failed"
        yield f"`{_quote(failure.command, 70)}`{error}" + (
            f" → {_mend(failure)}" if failure.mended else " → not mended"
        )


def _mend(failure: Failure) -> str:
    why = _explanation(failure)
    if why:
        return _quote(why, 170)
    if failure.edited:
        return (
            f"mended by a change of {', '.join(name.rpartition('/')[2] or name for name in list(failure.edited)[-3:])}"
        )
    return f"mended after `{failure.commands[-1]}`" if failure.commands else "ran well later"


def _explanation(failure: Failure) -> str:
    """Return the agent's sentence with the cause, else its first, with the mend that follows."""
    first = ""
    for remark in failure.remarks:
        before = ""
        for sentence, after in cues.sentences_with_next(remark):
            mend = f" {after}" if 0 < len(after) <= _AFTER and not after.endswith((":", "?")) else ""
            if 25 <= len(sentence) <= 400 and cues.is_cause(sentence):
                return (f"{before} " if before and _REFERS_BACK.match(sentence) else "") + sentence + mend
            before = sentence
            usable = 25 <= len(sentence) <= 300 and not sentence.endswith((":", "?"))
            if not first and usable and not _FILLER.match(sentence):
                first = sentence + mend
    return first


_AFTER: Final = 160
"""Characters of the sentence after the cause, which often says the mend."""
_REFERS_BACK: Final = re.compile(r"(?:that|this|so|it|which|therefore)\b", re.IGNORECASE)


# ---------------------------------------------------------------------- insights

_REASONED: Final = re.compile(r"\b(?:because|since|so that|instead of|rather than|as it|weil|statt)\b|\w: \w|\d")
"""Decisions with a reason or a number: what is settled otherwise stands in the handoff."""


def _insights(thread: Thread, notes: SessionNotes) -> list[Derived]:
    found: list[Derived] = []
    project = f" ({thread.project})" if thread.project else ""
    for remark in notes.rules[-_RULES:]:
        text = f"A standing rule, in the person's words{project}: {_quote_words(remark.text, 400)}"
        found.append(Derived(INSIGHT, remark.turn, remark.place, _quote(remark.text, 80), text, remark.at_us))
    mended = [(each, why) for each in notes.failures if each.mended and each.error and (why := _explanation(each))]
    for failure, why in mended[-_FAILURES:]:
        changed = ", ".join(_relative(name, thread.facts.get("cwd")) for name in list(failure.edited)[-4:])
        after = f"after a change of {changed}" if changed else "later"
        error = _quote(failure.error, 160)
        text = f"`{failure.command}` failed{project}: {error}\nWhy: {_quote(why, 260)}\nIt ran well {after}."
        title = _quote(failure.error, 80)
        found.append(Derived(INSIGHT, failure.turn, failure.place, title, text, failure.at_us, is_failure=True))
    asked = {ask.turn: ask.text for ask in notes.asks}
    rules = {rule.text for rule in notes.rules}
    lasting = [each for each in notes.decisions if _lasts(each) and each.text not in rules]
    for remark in [each for each in lasting if " → " not in each.text][-_DECISIONS:]:
        who = "The person decided" if remark.by_user else "Decided"
        question = asked.get(remark.turn, "")
        about = f", asked {_quote_words(question, _ASKED)}" if question.endswith("?") and not remark.by_user else ""
        text = f"{who}{project}{about}: {_quote_words(remark.text, 400)}"
        if remark.by_user and remark.finding and (remark.drops or len(remark.text) < _SHORT):
            text += f"\nThe agent had said: {_quote(remark.finding, 260)}"
        if remark.echo:
            text += f"{ECHO}{_quote(remark.echo, 200)}"
        if remark.drops:
            text += f"\nIt takes back: {_quote_words(remark.drops, 200)}"
        found.append(Derived(INSIGHT, remark.turn, remark.place, _quote(remark.text, 80), text, remark.at_us))
    return found[:MOST_INSIGHTS]


def _lasts(remark: Remark) -> bool:
    """Return whether a decision outlasts its session: it may take back one of another."""
    if cues.is_for_once(remark.text):
        return False
    reverses = (
        remark.by_user and cues.is_substantial(remark.text) and any(map(cues.is_reversal, cues.sentences(remark.text)))
    )
    return reverses or bool(remark.drops or remark.echo) or _REASONED.search(remark.text) is not None


# ---------------------------------------------------------------------- words


def _gist(reply: str) -> str:
    """Return the first sentence of a reply that says something."""
    for sentence in cues.sentences(reply):
        if len(sentence.split()) >= 5 and not _FILLER.fullmatch(sentence) and not sentence.endswith((":", "?")):
            return _quote(sentence, _ANSWER)
    return ""


def _excerpt(reply: str, most: int) -> str:
    """Return the beginning of a reply on one line, without code, headings and fillers."""
    kept: list[str] = []
    room = most
    for line in cues.without_code(reply).splitlines():
        if cues.is_open_heading(line):
            break  # these points have a place of their own
        for sentence in cues.sentences(line):
            if _FILLER.fullmatch(sentence):
                continue
            if len(sentence) > room:
                return " ".join(kept).rstrip(";") or _quote(sentence, most)
            kept.append(sentence if sentence.rstrip("\"')").endswith((".", "!", "?", ":", ";")) else f"{sentence};")
            room -= len(kept[-1]) + 1
    return " ".join(kept).rstrip(";")


def _quote(text: str, most: int) -> str:
    """Return a text on one line, without code, cut between words."""
    flat = " ".join(cues.without_code(text).split()) or " ".join(text.split())
    if len(flat) <= most:
        return flat
    cut = flat[: most - 2]
    return cut[: max(cut.rfind(" "), most // 2)].rstrip(" ,;:") + " …"


def _quote_words(text: str, most: int) -> str:
    """Return a text as a quotation, within marks that it does not hold itself."""
    quoted = _quote(text, most)
    return f"“{quoted}”" if '"' in quoted else f'"{quoted}"'


def _relative(name: str, folder: object) -> str:
    name = name.replace("\\", "/")
    folder = folder.replace("\\", "/") if isinstance(folder, str) else None
    if folder and name.startswith(folder.rstrip("/") + "/"):
        return name[len(folder.rstrip("/")) + 1 :]
    rooted = folder is not None and folder.startswith("/") and name.startswith("/")
    return "/".join(name.split("/")[-3:]) if rooted and len(commonpath([name, str(folder)])) > 1 else name
