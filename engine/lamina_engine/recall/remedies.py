"""Remedies of an absence: changes of a question that bring a chunk in.

Each was tried before it is told. A stage that can be switched off (a filter, a limit of a document, a budget) is switched
off; what is left is a matter of rank, for which there are three ways: more hits, a word of the chunk, another profile. Each
way is gone step by step, the recall run at each, until the chunk is a hit; then every step not needed is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.index.analysis import query_analyzer
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall.absence import Arguments, Remedy, diagnose
from lamina_engine.recall.lanes import Words
from lamina_engine.recall.request import MAX_K
from lamina_engine.recall.retrieval import bm25_of

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

_MOST_STEPS: Final = 16
_FEW: Final = 100
"""Hits that a caller may well look through; more of them are a larger change than a word."""
_MANY_WORDS: Final = 6
_PROFILE: Final = 3
"""Added words that more hits than a few, and another profile, weigh as much as."""
_LONGEST: Final = 64
_WORDS: Final = (1, 2, 3, 5, 8, 13)
"""Words of the chunk that are added, step by step."""

Relax = Callable[[dict[str, Any]], tuple[str, dict[str, Any]] | None]
"""Gives the next step from given arguments where rank decides; None where there is none."""


def find_remedies(memory: Memory, arguments: Arguments, identity: str) -> tuple[Remedy, ...]:
    """Return the changes that bring a chunk in, the smallest first."""
    found: list[Remedy] = []
    for relax in _ways(memory, arguments, identity):
        remedy = _go(memory, arguments, identity, relax)
        if remedy is not None and all(remedy.arguments != other.arguments for other in found):
            found.append(remedy)
    if not found:  # nothing that it says or is linked to finds it: it can still be asked for by its id
        alone = {"where": {"id": identity}, "fill": True, "token_budget": None}
        remedy = _go(memory, arguments, identity, _once(("ask for it alone, by its id", alone)))
        return () if remedy is None else (remedy,)
    return tuple(sorted(found, key=lambda remedy: _size(arguments, remedy)))


def _size(arguments: Arguments, remedy: Remedy) -> tuple[int, int]:
    """Return the size of a change: its arguments, then hits beyond a few, words, the profile."""
    changed = remedy.arguments
    many = _MANY_WORDS * (int(str(changed.get("k", 0))) > _FEW)
    words = len(str(changed.get("query", "")).split()) - len(str(arguments["query"]).split())
    return len(changed), max(words, 0) + many + _PROFILE * ("profile" in changed)


def _ways(memory: Memory, arguments: Arguments, identity: str) -> Iterator[Relax]:
    yield _more_hits(arguments)
    for word in _words_of(memory, arguments, identity)[:2]:
        yield _once_word(word)
    yield _more_words(memory, arguments, identity)
    asked = str(arguments.get("profile") or memory.config.profile)
    for name in dict.fromkeys(profile.name for profile in BUILT_IN.values()):
        if name != asked.partition("@")[0]:
            yield _once((f"ask by the profile {name}", {"profile": name}))


def _once(step: tuple[str, dict[str, Any]]) -> Relax:
    steps = iter([step])
    return lambda _: next(steps, None)


def _once_word(word: str) -> Relax:
    left = [word]
    return lambda state: _add_words(state, [left.pop()]) if left else None


def _more_hits(arguments: Arguments) -> Relax:
    steps = iter([("", {"k": MAX_K - arguments.get("offset", 0)}), ("set no budget", {"token_budget": None})])

    def relax(_: Arguments) -> tuple[str, dict[str, Any]] | None:
        step = next(steps, None)
        return step if step is None or step[0] == "" or arguments.get("token_budget") is not None else None

    return relax


def _more_words(memory: Memory, arguments: Arguments, identity: str) -> Relax:
    words = _words_of(memory, arguments, identity)
    steps = iter([words[:count] for count in _WORDS if count <= len(words)])
    query: list[str] = []

    def relax(state: Arguments) -> tuple[str, dict[str, Any]] | None:
        chosen = next(steps, None)
        query.append(str(state["query"]))  # the first is the question without what was added here
        return None if chosen is None else _add_words({"query": query[0]}, chosen)

    return relax


def _add_words(arguments: Arguments, words: list[str]) -> tuple[str, dict[str, Any]]:
    shown = ", ".join(f'"{word}"' for word in words)
    return f"add {shown} to the question", {"query": " ".join([str(arguments["query"]), *words]).strip()}


def _words_of(memory: Memory, arguments: Arguments, identity: str) -> list[str]:
    """Return words of a chunk that the question lacks, those that tell it from others first."""
    view, analyzer = memory.view(), query_analyzer()
    rows = view.all_rows_of_id(identity)[-1:]
    if not len(rows):
        return []
    (record,) = view.snapshot.records("chunks", rows, ("title", "text"))
    text = f"{record['title'] or ''} {record['text']}"[:20_000]
    profile = memory.profiles.get(arguments.get("profile") or memory.config.profile)
    words = Words(view, analyzer.query(text, view.languages), bm25_of(profile.lexical))
    (parts,) = words.contributions(rows)
    asked = {term.stem for term in analyzer.tokens(str(arguments["query"]))}
    forms: dict[str, str] = {}
    for term in analyzer.tokens(text):
        if term.kind != "part" and term.surface.isalnum() and len(term.surface) <= _LONGEST:
            forms.setdefault(term.stem, term.surface)
    ranked = sorted(parts, key=lambda stem: (not forms.get(stem, "").isalpha(), -parts[stem], stem))
    return [forms[stem] for stem in ranked if stem in forms and stem not in asked][: max(_WORDS)]


def _go(memory: Memory, arguments: Arguments, identity: str, relax: Relax) -> Remedy | None:
    """Switch off stage after stage until the chunk is a hit; None without success."""
    state, texts = dict(arguments), dict[str, tuple[str, tuple[str, ...]]]()
    for _ in range(_MOST_STEPS):
        found = diagnose(memory, state, identity)
        stage = str(found.absence.stage)
        if stage == "hit":
            break
        step = found.fix or relax(state)
        if step is None:
            return None
        if stage == "folded" and stage in texts:  # into another one still: of many alike, leaving out one is not enough
            step = ("fold nothing, and set no budget", {"fill": True, "token_budget": None})
        text, changes = step
        if all(name in state and state[name] == value for name, value in changes.items()):
            # as it is already: room for all before it was not enough, or the stage stays whatever is asked
            step = ("set no budget", {"token_budget": None}) if stage == "budget" else relax(state)
            if step is None:
                return None
            text, changes = step
        state |= changes
        texts[stage if found.fix else "rank"] = text, tuple(changes)
    changed = {
        name: value for name, value in state.items()
        if name not in arguments or (arguments[name] is not value and arguments[name] != value)  # an array is not compared
    }  # fmt: skip
    return _smallest(memory, arguments, identity, changed, texts)


def _smallest(
    memory: Memory,
    arguments: Arguments,
    identity: str,
    changed: dict[str, Any],
    texts: dict[str, tuple[str, tuple[str, ...]]],
) -> Remedy | None:
    """Return the changes without those not needed, tried once more; None where they fail."""
    for name in list(changed) if len(changed) > 1 else ():
        if name == "token_budget" and "fill" in changed:
            continue  # both together are refused
        fewer = {key: value for key, value in changed.items() if key != name}
        if _rank(memory, {**arguments, **fewer}, identity) is not None:
            changed = fewer
    rank = _rank(memory, {**arguments, **changed}, identity)
    if rank is None or not changed:
        return None
    if "k" in changed:
        changed["k"] = max(rank, 1)
        rank = _rank(memory, {**arguments, **changed}, identity)
    said = [text for text, names in texts.values() if text and not changed.keys().isdisjoint(names)]
    said += [f"ask for {changed['k']} hits"] if "k" in changed else []
    return None if rank is None else Remedy("; ".join(dict.fromkeys(said)), changed, rank)


def _rank(memory: Memory, arguments: Arguments, identity: str) -> int | None:
    found = diagnose(memory, arguments, identity).absence
    return found.rank if found.stage == "hit" else None
