"""Scopes of a question: projects, people and folders that it names, preferred or required.

In a vault that pools several, "Anna's deploy notes" means Anna's. Each name of the question is looked up among the names that
the vault holds: projects, agents, the folders and roots of its files, and aliases of those. A chunk outside loses a share of its
score: the profile's weight times the confidence. That is how much more of the chunks inside than of those outside hold the word;
a name that is a common word of the texts counts little. A question that names nothing is scored as without this module.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from lamina_engine.errors import InvalidArgument
from lamina_engine.index.analysis import STOP_WORDS, fold, query_analyzer, term_hash
from lamina_engine.index.row_columns import NO_VALUE
from lamina_engine.index.scoring import inverse_document_frequency, scoring_terms
from lamina_engine.profiles import SCOPE_WEIGHT
from lamina_engine.recall.dialogue import agents_by_word
from lamina_engine.recall.lanes import Selection
from lamina_engine.results import NamedScope
from lamina_kernels.layouts import BOOL, F64, I32, I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.recall.request import Request

MODES: Final = ("prefer", "filter", "off")
SURE: Final = 0.5
"""Confidence from which on ``filter`` requires a scope; below it is only preferred."""
SESSION_CONFIDENCE: Final = 0.5
"""Confidence that a question which names nothing, or what several share, is about the project of the session that asks."""
_OF_ONE: Final = 3.0
"""Times the profile's weight that the one project of the people named counts: a name of somebody is no topic, as a folder's may be."""
_MARGIN: Final = 4
"""Power of the second best project's match to the best one's that is the doubt about the best."""
_FORM: Final = 0.8
"""Confidence in a longer or shorter form of a name: sqla, supervisord."""
_LEAST_OF_FORM: Final = 0.9
"""A form that is more of a word of other texts than so is none: wait for waitress."""
_UNSPOKEN: Final = 0.05
"""Share of its chunks that belong to a name without holding it, at least."""
_LEAST_CONFIDENCE: Final = 0.1
_LONGEST: Final = 3
"""Words of a name, at most."""
_LEAST_FORM: Final = 4
"""Letters of a shorter form, or of a name within a longer one; three in capitals."""
_HEAD: Final = _LEAST_FORM - 1
"""Letters that a name has in common with each of its forms, at least."""
_MOST_ADDED: Final = 6
_DEEPEST: Final = 3
"""Folders within folders that hold nothing else are names too, so deep."""
_WORD: Final = re.compile(r"[^\W_]+")
_USED: Final = "scope projects"
_NAMES: Final = "scope names of projects and folders"


class Place(NamedTuple):
    """Something that owns chunks."""

    kind: str
    """``project``, ``agent``, ``folder``, ``root``, or ``session``."""
    name: str


class Names(NamedTuple):
    """Folded names of a vault, with what each stands for."""

    places: Mapping[str, tuple[Place, ...]]
    ordered: Sequence[str]
    """The names, ascending."""
    heads: frozenset[str]
    """What the names begin with."""

    @classmethod
    def of(cls, places: Mapping[str, tuple[Place, ...]]) -> Names:
        """Return the names of some places."""
        return cls(places, sorted(places), frozenset(name[:_HEAD] for name in places))


class PreferredScope(NamedTuple):
    """A scope of a question, with its rows."""

    named: NamedScope
    inside: BOOL
    """bool (rows,)"""
    of_people: bool = False
    """True where the name is that of somebody who speaks."""
    is_one: bool = False
    """True where it is the one project of the people that are named."""


def check_mode(mode: object) -> str | None:
    """Validate a caller's scope mode; None stays None."""
    if mode is not None and mode not in MODES:
        raise InvalidArgument(f"scope={mode!r} must be one of {', '.join(MODES)}, or None to go by the profile")
    return mode if isinstance(mode, str) else None


def find_scopes(view: View, request: Request, mode: str | None) -> tuple[PreferredScope, ...]:
    """Return the scopes that a question names, or that of the asking session. O(words)."""
    weight = request.profile.scope or (SCOPE_WEIGHT if mode else 0.0)
    if mode == "off" or not weight or not view.rows:
        return ()
    found = []
    for words, places, certainty in _match_names(view, request.text):
        inside = _rows_of(view, places)
        confidence = _measure(view, words, inside)
        if confidence < (_LEAST_CONFIDENCE if certainty == 1.0 else _LEAST_OF_FORM) or inside.all():
            continue
        scope = _scope(view, places, words, certainty * confidence, weight, inside, required=mode == "filter")
        found.append(scope._replace(of_people=all(place.kind == "agent" for place in places)))
    asking = _project_of_session(view, request.session) if request.session is not None else None
    if found and all(scope.of_people for scope in found):
        return _with_project(view, request, found, weight, asking)
    if asking is not None and not _rows_of(view, (asking,)).all():
        inside = _rows_of(view, (asking,))
        if all(scope.named.is_shared and (scope.inside & inside).any() for scope in found):
            found.append(_scope(view, (asking,), "", SESSION_CONFIDENCE, weight, inside, required=False))
    return tuple(found)


def named_projects(view: View, text: str) -> dict[str, str]:
    """Return the projects that a text surely names, each with its words. O(words)."""
    if not view.rows:
        return {}
    found: dict[str, str] = {}
    for words, places, certainty in _match_names(view, text):
        projects = [place for place in places if place.kind == "project"]
        if certainty == 1.0 and len(projects) == 1 and _measure(view, words, _rows_of(view, places)) >= SURE:
            found[projects[0].name] = words
    return found


def _scope(
    view: View, places: tuple[Place, ...], words: str, confidence: float, weight: float, inside: BOOL, *, required: bool
) -> PreferredScope:
    names = tuple(name for place in places for name in _names_of(view, place))
    named = NamedScope(
        words, names, confidence, weight * confidence,
        int(np.count_nonzero(inside)), filtered=required and confidence >= SURE,
    )  # fmt: skip
    return PreferredScope(named, inside)


def _names_of(view: View, place: Place) -> list[str]:
    """Return what a place is called; a person once for each project she speaks in."""
    if place.kind == "agent":
        agents = view.categories.column(view.snapshot, "agent")[: view.rows]
        spoken = agents == view.categories.code("agent", place.name)
        codes = view.categories.column(view.snapshot, "project")[: view.rows][spoken]
        projects = sorted(str(view.categories.value("project", code)) for code in set(codes.tolist()) - {NO_VALUE})
        if projects:
            return [f"agent {place.name} in {project}" for project in projects]
    return [f"{place.kind} {place.name}"]


def _measure(view: View, words: str, inside: BOOL) -> float:
    """Return a / (a + b), of the shares of chunks inside and outside that hold a name."""
    stems = [term_hash(term.stem) for term in query_analyzer().query(words, view.languages)]
    count = int(np.count_nonzero(inside))
    if not count or not stems:
        return 0.0
    held = inside[view.rows_with_all(np.unique(np.array(stems, np.uint32)))]
    within = int(np.count_nonzero(held))
    here, there = max(within / count, _UNSPOKEN), (len(held) - within) / max(view.rows - count, 1)
    return here / (here + there)


# ---------------------------------------------------------------------- names of a question


def _match_names(view: View, text: str) -> list[tuple[str, tuple[Place, ...], float]]:
    """Return (words, places, certainty of the form) of the names in a text, longest first."""
    names = known_names(view)
    if not names.ordered:
        return []
    words = _WORD.findall(text)
    forms = _WORD.findall(text.lower()) if text.isascii() else [fold(word) for word in words]
    free = [True] * len(words)
    found: dict[tuple[Place, ...], tuple[str, float]] = {}
    begins = [start for start, form in enumerate(forms) if len(form) < _HEAD or form[:_HEAD] in names.heads]
    for length in range(_LONGEST, 0, -1):
        for start in begins:
            stop = start + length
            if stop > len(words):
                break
            places = names.places.get("".join(forms[start:stop]))
            if places and all(free[start:stop]) and not (length == 1 and forms[start] in STOP_WORDS):
                free[start:stop] = [False] * length
                found.setdefault(places, (" ".join(words[start:stop]), 1.0))
    for at in begins:
        places = _place_of_form(names, words[at], forms[at]) if free[at] and len(forms[at]) >= _HEAD else ()
        if places:
            found.setdefault(places, (words[at], _FORM))
    for word, codes in agents_by_word(view, text).items():
        values = view.categories.values("agent")
        places = tuple(Place("agent", values[code]) for code in sorted(codes))
        if not any(set(places) <= set(known) for known in found):
            found.setdefault(places, (word, 1.0))
    return [(written, places, share) for places, (written, share) in found.items()]


def _place_of_form(names: Names, word: str, form: str) -> tuple[Place, ...]:
    """Return the only place whose name is longer or shorter than a folded word: supervisord."""
    least = _LEAST_FORM - 1 if word.isupper() else _LEAST_FORM
    if len(form) < least or form in STOP_WORDS or form.isdecimal():
        return ()
    shorter = (form[:length] for length in range(max(len(form) - _MOST_ADDED, _LEAST_FORM), len(form)))
    found = {names.places[name] for name in shorter if name in names.places}
    for at in range(bisect_left(names.ordered, form), len(names.ordered)):
        if not names.ordered[at].startswith(form) or len(found) > 1:
            break
        found.add(names.places[names.ordered[at]])
    return found.pop() if len(found) == 1 else ()


def known_names(view: View) -> Names:
    """Return the names of a vault. O(rows) once a version."""
    return view.cached("scope names", lambda: _read_names(view))


class _Used(NamedTuple):
    """Active chunks by project, of a version."""

    rows: int
    events: int
    counts: I64
    """By code, from `NO_VALUE` on."""


def _used_projects(view: View) -> tuple[int, ...]:
    """Return the codes of projects with active chunks; counted on from another version."""
    column = view.categories.column(view.snapshot, "project")
    known: _Used | None = view.tables.peek_cached(_USED)
    if known is not None and known.events == view.state.events and known.rows <= len(column):
        low, high = sorted((known.rows, view.rows))  # a past moment has fewer
        counts = np.bincount(column[low:high] - NO_VALUE, minlength=len(known.counts))
        counts = counts if view.rows > known.rows else -counts
        counts[: len(known.counts)] += known.counts
    else:
        codes = column[: view.rows] if view.state.all_active else column[: view.rows][view.state.active()]
        counts = np.bincount(codes - NO_VALUE)
    if view.as_of_us is None:
        view.tables.put_cached(_USED, _Used(view.rows, view.state.events, counts))
    counts = counts[1:]  # of chunks with a project
    return tuple(np.flatnonzero(counts).tolist())  # np.unique would import numpy.ma


def _read_names(view: View) -> Names:
    used, known = _used_projects(view), _folders(view)
    if view.snapshot.rows("aliases"):
        return _fold_names(view, used, known)
    former = view.tables.peek_cached(_NAMES)  # most writes bring no new name
    if former is None or former[0] != used or former[1] is not known:
        former = view.tables.put_cached(_NAMES, (used, known, _fold_names(view, used, known)))
    names: Names = former[2]
    return names


def _fold_names(view: View, used: tuple[int, ...], paths: list[Place]) -> Names:
    found: dict[str, set[Place]] = {}
    values = view.categories.values("project")
    projects = [Place("project", values[code]) for code in used]
    folders = [place for place in paths if not _key(place.name.rpartition("/")[2]).isdecimal()]  # of a year
    for place in (*projects, *folders):
        found.setdefault(_key(place.name.rpartition("/")[2]), set()).add(place)
    found.pop("", None)
    for names in _aliases(view):
        same = set[Place]().union(*(found.get(_key(name), ()) for name in names))
        same |= {Place("agent", name) for name in view.categories.values("agent") if _key(name) in map(_key, names)}
        if same:
            for name in names:
                found.setdefault(_key(name), set()).update(same)
    return Names.of({name: tuple(sorted(places)) for name, places in found.items()})


def _key(name: str) -> str:
    return "".join(map(fold, _WORD.findall(name)))


def _aliases(view: View) -> Iterable[tuple[str, ...]]:
    """Yield the names of each entity that has more than one."""
    if not view.snapshot.rows("aliases"):
        return
    from lamina_engine.facts.view import fact_view

    facts = fact_view(view)
    entities = {facts.root(row) for s in view.snapshot.segments("aliases") for row in s.column("entity").to_pylist()}
    for row in sorted(entities):
        if 0 <= row < facts.entity_rows:
            entity = facts.entity(row)
            yield (entity.name, *entity.aliases)


def _folders(view: View) -> list[Place]:
    """Return roots, where there are several, and first folders; of mere folders, the next."""
    rows = view.snapshot.watermark("sources", view.as_of_us)
    known = view.tables.peek_cached("scope folders")
    if known is None or known[0] != rows:
        known = view.tables.put_cached("scope folders", (rows, _read_folders(view, rows)))
    found: list[Place] = known[1]
    return found


def _read_folders(view: View, rows: int) -> list[Place]:
    parts: set[tuple[str, ...]] = set()
    roots: set[str] = set()
    for segment in view.snapshot.segments("sources"):
        count = min(segment.rows, rows - segment.start)
        if count > 0:
            sources = segment.texts("source", 0, count)
            parts.update(tuple(str(source).split("/")[:-1][: _DEEPEST + 1]) for source in sources)
            roots.update(map(str, segment.texts("root", 0, count)))
    found = [Place("root", root) for root in sorted(roots)] if len(roots) > 1 else []
    for depth in range(1, _DEEPEST + 1):
        at = sorted({each[:depth] for each in parts if len(each) >= depth})
        found += [Place("folder", "/".join(each)) for each in at if not parts & _parents(each)]
    return found


def _parents(folder: tuple[str, ...]) -> set[tuple[str, ...]]:
    return {folder[:depth] for depth in range(1, len(folder))}


# ---------------------------------------------------------------------- from places to rows


def _rows_of(view: View, places: tuple[Place, ...]) -> BOOL:
    """Return the rows of some places, bool (rows,)."""

    def make() -> BOOL:
        found = np.zeros(view.rows, np.bool_)
        for place in places:
            found |= _READ[place.kind](view, place.name)
        return found

    return view.cached(("scope rows", places), make)


def _rows_of_project(view: View, name: str) -> BOOL:
    codes = view.categories.column(view.snapshot, "project")[: view.rows]
    found: BOOL = codes == view.categories.code("project", name)
    return found


def _rows_of_agent(view: View, name: str) -> BOOL:
    """Return the rows of all projects, else sessions, in which somebody speaks."""
    agents = view.categories.column(view.snapshot, "agent")[: view.rows]
    found: BOOL = agents == view.categories.code("agent", name)
    for field in ("project", "session"):
        codes = view.categories.column(view.snapshot, field)[: view.rows]
        homes = np.unique(codes[found])
        if len(homes) and homes[0] != NO_VALUE:
            return np.isin(codes, homes)
    return found


def _rows_of_folder(view: View, name: str) -> BOOL:
    import pyarrow.compute as pc

    found = np.zeros(view.rows, np.bool_)
    for segment in view.snapshot.segments("chunks"):
        below = pc.fill_null(pc.starts_with(segment.column("source"), f"{name}/"), False)
        stop = min(segment.start + segment.rows, view.rows)
        found[segment.start : stop] = below.to_numpy(zero_copy_only=False)[: max(stop - segment.start, 0)]
    return found


def _rows_of_root(view: View, name: str) -> BOOL:
    found = np.zeros(view.rows, np.bool_)
    for segment in view.snapshot.segments("sources"):
        for root, ids in zip(segment.texts("root"), segment.texts("chunks"), strict=True):
            if root == name:
                rows = view.rows_of_ids(ids)
                found[rows[rows >= 0]] = True
    return found


_READ: Final[Mapping[str, Callable[[View, str], BOOL]]] = {
    "project": _rows_of_project,
    "agent": _rows_of_agent,
    "folder": _rows_of_folder,
    "root": _rows_of_root,
}


def _project_of_session(view: View, session: str) -> Place | None:
    """Return the project of the session that asks."""
    sessions = view.categories.column(view.snapshot, "session")[: view.rows]
    rows = np.flatnonzero(sessions == view.categories.code("session", session))
    codes = view.categories.column(view.snapshot, "project")[: view.rows]
    if not rows.size or codes[rows[-1]] == NO_VALUE:
        return None
    return Place("project", str(view.categories.value("project", int(codes[rows[-1]]))))


# ---------------------------------------------------------------------- one project of several


def _with_project(
    view: View, request: Request, found: list[PreferredScope], weight: float, asking: Place | None
) -> tuple[PreferredScope, ...]:
    """Return scopes of people with the one project of theirs that is meant."""
    common = np.logical_and.reduce([scope.inside for scope in found])
    codes = view.categories.column(view.snapshot, "project")[: view.rows]
    projects = np.flatnonzero(np.bincount(codes[common & (codes != NO_VALUE)]))
    if not projects.size:
        return tuple(found)
    confidence, weight = min(scope.named.confidence for scope in found), min(_OF_ONE * weight, 1.0)
    if len(found) == len(projects) == 1:
        return (found[0]._replace(named=replace(found[0].named, weight=weight * confidence), is_one=True),)
    if asking is not None and view.categories.code("project", asking.name) in projects:
        place, words = asking, ""
    else:
        code, share = _choose_project(view, request.text, found, codes, projects)
        place = Place("project", str(view.categories.value("project", code)))
        confidence, words = confidence * share, ", ".join(scope.named.words for scope in found)
    inside = _rows_of(view, (place,))
    if confidence < _LEAST_CONFIDENCE or inside.all():
        return tuple(found)
    one = _scope(view, (place,), words, confidence, weight, inside, required=False)
    return (*found, one._replace(is_one=True))


def _choose_project(view: View, text: str, found: list[PreferredScope], codes: I32, projects: I64) -> tuple[int, float]:
    """Return the project that holds the question's other words best, and how surely it is that."""
    # what is asked about somebody was said where it is known: words that the others lack, and many in one chunk
    if len(projects) == 1:
        return int(projects[0]), 1.0
    analyzer = query_analyzer()
    names = {term.stem for scope in found for term in analyzer.query(scope.named.words, view.languages)}
    terms = scoring_terms([term for term in analyzer.query(text, view.languages) if term.stem not in names])
    keys = np.array(sorted({term_hash(term.stem) for term in terms}), np.uint32)
    # of each row and, behind the last, of those without a project
    per_row, held, best = np.zeros(view.rows), *np.zeros((2, int(codes.max()) + 2))
    each = view.rows_with_each(keys) if len(keys) else ()
    for rows in each:
        rarity = inverse_document_frequency(len(rows), view.statistics.rows)
        per_row[rows] += rarity
        held[np.unique(codes[rows])] += rarity
    with_any = np.flatnonzero(per_row)
    np.maximum.at(best, codes[with_any], per_row[with_any])
    match = np.sqrt(held * best)[projects]
    order = np.argsort(-match, kind="stable")
    first, second = match[order[:2]].tolist()
    return int(projects[order[0]]), 1.0 - (second / first) ** _MARGIN if first else 0.0


# ---------------------------------------------------------------------- selection and score


def preferred_rows(scopes: tuple[PreferredScope, ...]) -> BOOL:
    """Return the rows in all scopes, or in any where no row is in all."""
    every: BOOL = np.logical_and.reduce([scope.inside for scope in scopes])
    some: BOOL = np.logical_or.reduce([scope.inside for scope in scopes])
    return every if every.any() else some


def require_scopes(selection: Selection, scopes: tuple[PreferredScope, ...]) -> Selection:
    """Return the selected rows of the scopes that are required."""
    required = tuple(scope for scope in scopes if scope.named.filtered)
    if not required:
        return selection
    inside = preferred_rows(required)
    live = inside if selection.live is None else inside & selection.live
    return replace(selection, live=live, count=int(np.count_nonzero(live)), must_is_all=False)


def weighing_rows(scopes: tuple[PreferredScope, ...]) -> BOOL | None:
    """Return the rows by which words are weighed: of the one project of somebody; None for all."""
    # in her own dialogue everybody says Caroline, and the name tells nothing apart; a name of a package does, on its pages
    ones = [scope.inside for scope in scopes if scope.is_one]
    return ones[0] if ones else None


def scope_factors(scopes: tuple[PreferredScope, ...], rows: I64) -> F64:
    """Return the product of 1 − weight over the scopes that a row is outside of, float64 (n,)."""
    found = np.ones(len(rows))
    for scope in scopes:
        found *= np.where(scope.inside[rows], 1.0, 1.0 - scope.named.weight)
    return found


def scope_term(scopes: tuple[PreferredScope, ...], row: int) -> dict[str, Any]:
    """Return the explanation term ``scope`` of a hit."""
    factor = float(scope_factors(scopes, np.array([row]))[0])
    inside = [name for scope in scopes if scope.inside[row] for name in scope.named.names]
    outside = [name for scope in scopes if not scope.inside[row] for name in scope.named.names]
    return {"inside": inside, "outside": outside, "factor": factor}
