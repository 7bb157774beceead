"""Absence of a chunk from a recall: the stage at which it lost, with its numbers.

The recall is run as it was asked, and what each of its stages let through is read, first stage first (`Stage`). No number
is computed by another formula: a chunk that no lane gave is scored as if one had (`lamina_engine.recall.pipeline.Ranking`).
What would bring it in is tried before it is said: see `lamina_engine.recall.remedies`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine.chunks.identities import find_row, find_rows
from lamina_engine.clock import format_instant
from lamina_engine.errors import ChunkNotFound
from lamina_engine.index.state import FORGOTTEN, STATUS_NAMES
from lamina_engine.index.view import View
from lamina_engine.recall.clauses import name_of
from lamina_engine.recall.diversity import head_vectors, limit_sources, vary
from lamina_engine.recall.explain import attribute
from lamina_engine.recall.factlane import fact_chunk
from lamina_engine.recall.filters import evaluate, live_mask, parse_filter
from lamina_engine.recall.lanes import cosines
from lamina_engine.recall.operators import drop_clauses
from lamina_engine.recall.pack import count_row_tokens
from lamina_engine.recall.pipeline import Ranked, Ranking, rank_question
from lamina_engine.results import Terms  # an absence that was sent is read by its annotations

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.recall.lanes import Lane
    from lamina_engine.results import Hit, JSONValue

Stage = Literal[
    "unwritten", "state", "filter", "candidates", "lanes", "score", "folded", "source", "variety", "budget", "k", "offset",
    "confidence", "hit",
]  # fmt: skip
"""In the order of a recall."""
Arguments = Mapping[str, Any]
"""Of a recall, the query among them."""


class LaneDistance(Struct, frozen=True):
    """Distance of a chunk from the last one that a lane gave."""

    lane: str
    own: float
    """The lane's score of the chunk: BM25 or cosine."""
    cut: float
    """That of the last chunk it gave; 0 where it gave all that match."""
    depth: int
    """Chunks that it gives at most."""


class Remedy(Struct, frozen=True):
    """A change of the question that brings a chunk in; it was tried."""

    text: str
    arguments: dict[str, object]
    """Arguments of the recall to give instead."""
    rank: int
    """Place of the chunk among the hits then, from 1."""


class Absence(Struct, frozen=True, kw_only=True):
    """Absence of a chunk from the hits of a question, and what would bring it in."""

    id: str
    query: str
    profile: str
    stage: Stage
    """Where it lost; ``hit`` where it did not."""
    reason: str
    """The same in words."""
    rank: int | None = None
    """Place among the hits, from 1, where it is one."""
    status: str | None = None
    """Its status at the moment of the recall."""
    clauses: tuple[str, ...] = ()
    """Filters, dates and operators that it does not pass."""
    lanes: tuple[LaneDistance, ...] = ()
    """Where no lane gave it."""
    score: float | None = None
    """Its score; where no lane gave it, what it would have."""
    terms: Terms | None = None
    """Terms of that score; `lamina_engine.recall.explain.recompute` returns it from them."""
    other: str | None = None
    """Id of the last hit, or of the one that stands for it."""
    other_score: float | None = None
    differences: dict[str, float] = {}
    """What each part of the score gives the last hit more; they add up to the whole difference."""
    tokens: int | None = None
    """Of its text, where it did not fit."""
    room: int | None = None
    """Tokens of the budget that were left at its place."""
    remedies: tuple[Remedy, ...] = ()
    """Changes that bring it in, the smallest first; none where nothing is left of it."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the document of ``lamina recall --why-not --json``."""
        return cast("dict[str, JSONValue]", msgspec.to_builtins(self, enc_hook=str, str_keys=True))


class Diagnosis(NamedTuple):
    """An absence, and the arguments that switch off the stage it names."""

    absence: Absence
    fix: tuple[str, dict[str, Any]] | None = None
    """In words, and as arguments; None where the stage is a matter of rank, or cannot be switched off."""


def why_not(memory: Memory, query: str, identity: str, options: Arguments) -> Absence:
    """Return why a chunk is not among the hits of a recall, with what would bring it in."""
    from lamina_engine.recall.remedies import find_remedies

    arguments = {**options, "query": query}
    full = full_identity(memory, identity)
    found = diagnose(memory, arguments, full).absence
    if found.stage == "hit" or found.status == STATUS_NAMES[FORGOTTEN]:
        return found
    return msgspec.structs.replace(found, remedies=find_remedies(memory, arguments, full))


def full_identity(memory: Memory, identity: str) -> str:
    """Return the full id of a chunk or fact, of what was forgotten too; others raise."""
    view = memory.view()
    fact = fact_chunk(view, identity)
    if fact is not None:
        return fact.id
    (row,) = find_rows(view, [identity], missing_ok=True)
    if row < 0:
        try:
            row = find_row(view, identity)
        except ChunkNotFound as error:
            if not view.forgotten:
                raise
            gone = (
                "1 was forgotten, and of it"
                if view.forgotten == 1
                else f"{view.forgotten} were forgotten, and of these"
            )
            raise ChunkNotFound(f"{error}; {gone} no id is left") from error
    return str(view.snapshot.values("chunks", "id", np.array([row], np.int64))[0])


def diagnose(memory: Memory, arguments: Arguments, identity: str) -> Diagnosis:
    """Run a recall and find the stage at which a chunk lost."""
    ranked = _rank(memory, arguments)
    offset = ranked.request.offset
    if offset:  # an offset leaves out the best hits of the same order
        ranked = _rank(memory, {**arguments, "k": ranked.request.k, "offset": 0})
    found = _Reader(ranked, identity, arguments).diagnose()
    rank = found.absence.rank
    if rank is not None and rank <= offset:
        text = f"it is hit {rank}, and the first {offset} are left out"
        return _lost(found, "offset", text, (f"leave out the first {rank - 1}", {"offset": rank - 1}))
    if rank is not None and ranked.held_back:
        least = ranked.request.min_confidence
        text = f"it would be hit {rank - offset}, but all are held back: the confidence is {ranked.confidence:.2f}, below {least}"
        return _lost(found, "confidence", text, ("ask for any confidence", {"min_confidence": None}))
    if rank is not None and offset:
        return Diagnosis(
            msgspec.structs.replace(found.absence, rank=rank - offset, reason=f"it is hit {rank - offset}")
        )
    return found


def _rank(memory: Memory, arguments: Arguments) -> Ranked:
    options = dict(arguments)
    return rank_question(memory, options.pop("query"), with_facts=True, counted=False, **options)


def _lost(found: Diagnosis, stage: Stage, reason: str, fix: tuple[str, dict[str, Any]]) -> Diagnosis:
    return Diagnosis(msgspec.structs.replace(found.absence, stage=stage, reason=reason, rank=None), fix)


class _Place(NamedTuple):
    """A row among the candidates of a page."""

    page: Ranking
    position: int
    row: int


class _Reader:
    """Reads off a ranking what became of one chunk."""

    def __init__(self, ranked: Ranked, identity: str, arguments: Arguments) -> None:
        self._ranked, self._identity, self._arguments = ranked, identity, arguments
        self._view, self._request = ranked.view, ranked.request
        self._kept = ranked.rows()

    def diagnose(self) -> Diagnosis:
        """Go through the stages, the first first."""
        view, ranked = self._view, self._ranked
        rows = view.all_rows_of_id(self._identity).tolist()
        hit = [row for row in rows if row in self._kept]
        if hit:
            return self._hit(self._kept.index(hit[-1]) + 1, hit[-1])
        if not rows:
            return self._of_fact() if fact_chunk(view, self._identity) is not None else self._unwritten()
        open_to = [page.selection.live for page in ranked.pages]
        selected = [row for row in rows if any(live is None or live[row] for live in open_to)]
        if not selected:
            return self._unselected(rows[-1])
        row = selected[-1]
        places = [(page, np.flatnonzero(page.candidates.rows == row)) for page in ranked.pages]
        place = next((_Place(page, int(at[0]), row) for page, at in places if at.size), None)
        return self._unfound(row) if place is None else self._dropped(place)

    # ------------------------------------------------------------------ outcomes

    def _say(self, stage: Stage, reason: str, **fields: Any) -> Absence:
        return Absence(
            id=self._identity, query=str(self._arguments["query"]), profile=self._request.profile.id, stage=stage,
            reason=reason, **fields,
        )  # fmt: skip

    def _status(self, row: int) -> str:
        return STATUS_NAMES[self._view.state.status[row]]

    def _hit(self, rank: int, row: int) -> Diagnosis:
        return Diagnosis(self._say("hit", f"it is hit {rank}", rank=rank, status=self._status(row)))

    def _of_fact(self) -> Diagnosis:
        """Answer for a fact that no chunk states: the facts lane names it, or does not."""
        ids = [hit.id for hit in self._ranked.hits()]
        if self._identity in ids:
            rank = ids.index(self._identity) + 1
            return Diagnosis(self._say("hit", f"it is hit {rank}", rank=rank))
        return Diagnosis(self._say("lanes", "the facts lane does not answer the question with this fact"))

    def _unwritten(self) -> Diagnosis:
        """Answer for a chunk that was recorded after the moment of the recall."""
        snapshot = self._view.snapshot
        rows = View(snapshot, self._view.tables).all_rows_of_id(self._identity)[:1]
        written = format_instant(int(snapshot.numbers("chunks", "recorded_at", rows)[0]))
        reason = f"it was recorded at {written}, after the moment that was asked for"
        return Diagnosis(self._say("unwritten", reason), (f"ask as of {written}", {"as_of": written}))

    def _unselected(self, row: int) -> Diagnosis:
        """Answer for a row that may not be returned: by its status, or by a filter."""
        view, request, status = self._view, self._request, self._status(row)
        if status == STATUS_NAMES[FORGOTTEN]:
            return Diagnosis(
                self._say("state", "it was forgotten: nothing of it is left, at any moment", status=status)
            )
        shows_invalidated = request.profile.invalidated > 0.0
        if not live_mask(view, request.where, invalidated=shows_invalidated)[row]:
            fix = (f"ask for what is {status} too", _narrow(self._arguments, {"status": {"in": ["active", status]}}))
            return Diagnosis(self._say("state", f"it was {status} at that moment", status=status), fix)
        if not live_mask(view, request.where, invalidated=shows_invalidated, now_us=request.now_us)[row]:
            until = format_instant(view.state.snoozed[row])
            fix = ("ask for what is snoozed", _narrow(self._arguments, {"snoozed_until": "*"}))
            return Diagnosis(self._say("state", f"it is snoozed until {until}", status=status), fix)
        clauses, fixes = self._clauses_failed(row)
        if not clauses:  # what is left are the candidates that the caller brought
            text = "it is not among the candidates that were given"
            return Diagnosis(
                self._say("candidates", text, status=status), ("rank all, not given candidates", {"candidates": None})
            )
        shown = ", ".join(clauses)
        absence = self._say("filter", f"it does not pass {shown}", status=status, clauses=tuple(clauses))
        return Diagnosis(absence, (f"leave out {shown}", fixes))

    def _clauses_failed(self, row: int) -> tuple[list[str], dict[str, Any]]:
        """Return the filters, dates and operators that a row fails, and arguments without them."""
        view, request, page = self._view, self._request, self._ranked.pages[-1]
        only = np.zeros(view.rows, np.bool_)
        only[row] = True

        def fails(part: Mapping[str, Any]) -> bool:
            return not evaluate(parse_filter(part, request.tz, request.now_us), view, only)[row]

        clauses, rest = drop_parts(self._arguments.get("where") or {}, fails)
        fixes: dict[str, Any] = {"where": rest or None} if clauses else {}
        created = int(view.created_us[row])
        outside = {
            "since": request.since_us is not None and created < request.since_us,
            "until": request.until_us is not None and created >= request.until_us,
        }
        for name in [name for name, is_outside in outside.items() if is_outside]:
            clauses.append(f"{name} {self._arguments[name]}")
            fixes[name] = None
        window = request.window
        if window is not None and window.strict and not window.inside(view)[row]:
            clauses.append(f'the time "{window.phrase}"')
            fixes["time"] = "off"
        for scope in request.scopes:
            if scope.named.filtered and not scope.inside[row]:
                clauses.append(f'the scope "{scope.named.words}"')
                fixes["scope"] = "off"
        failed = page.operators.failed_by(row) if page.operators is not None else []
        if failed:
            clauses += [name_of(clause) for clause in failed]
            query = str(self._arguments["query"])
            plain = drop_clauses(query, failed)
            fixes |= {"query": plain} if plain != query else {"syntax": False}
        return clauses, fixes

    def _unfound(self, row: int) -> Diagnosis:
        """Answer for a row that no lane gave."""
        view, request, page = self._view, self._request, self._ranked.pages[-1]
        status = self._status(row)
        if page.by_time:
            text = "time alone ranks this question, and it lies outside of it or far down"
            fix = ("read no time in the question", {"time": "off"}) if request.window is not None else None
            return Diagnosis(self._say("lanes", text, status=status), fix)
        rows, asked = np.array([row], np.int64), request.lanes
        lanes, said = list[LaneDistance](), list[str]()
        if "lexical" in asked and page.words.names:
            lanes.append(self._distance("lexical", float(page.words.score(rows)[0]), page.lanes[0]))
            said.append("it holds none of the words" if not lanes[-1].own else _behind("by words", lanes[-1]))
        if page.query is not None:
            lanes.append(self._distance("vector", float(cosines(view, page.query, rows)[0]), page.lanes[1]))
            said.append(_behind("by meaning", lanes[-1]) if lanes[-1].own > 0.0 else "it is nothing like it in meaning")
        placed = page.place(view, request, rows)
        position = int(np.flatnonzero(placed.candidates.rows == row)[0])
        own = placed.explain(view, request, [position])[0]
        nothing = "none was asked that could" if request.text.strip() else "the question is empty, give some words"
        reason = f"no lane found it: {', '.join(said) or nothing}"
        absence = self._say(
            "lanes", reason, status=status, lanes=tuple(lanes), score=own.score, terms=own.terms, **self._beside(own)
        )
        left_out = None if set(asked) >= {"lexical", "vector"} else ("ask every lane", {"lanes": None})
        return Diagnosis(absence, left_out)

    def _distance(self, name: str, own: float, lane: Lane) -> LaneDistance:
        depth = self._ranked.pages[-1].page.depth
        return LaneDistance(name, own, float(lane.scores[-1]) if len(lane.rows) >= depth else 0.0, depth)

    def _beside(self, own: Hit) -> dict[str, Any]:
        """Return the last hit and what each part of the score gives it more."""
        pages = [page for page in self._ranked.pages if page.kept]
        if not pages:
            return {}
        last = pages[-1].explain(self._view, self._request, pages[-1].kept[-1:])[0]
        return {"other": last.id, "other_score": last.score, "differences": attribute(own.terms, last.terms)}

    def _dropped(self, place: _Place) -> Diagnosis:
        """Answer for a candidate that is no hit."""
        page, position, row = place
        own = page.explain(self._view, self._request, [position])[0]
        fields = {"status": own.status, "score": own.score, "terms": own.terms}
        if position not in page.order:
            keeper = self._same_content(page, position, row)
            if keeper is None:
                return Diagnosis(
                    self._say("score", f"its score is {own.score:.3g}: only what scores above 0 is a hit", **fields)
                )
            return self._folded(keeper, "holds the same text", fields)
        if position in page.passed or self._would_be_passed(page, position):
            most = self._request.per_source
            reason = f"{own.source} has its {most} hits, the most of one document"
            return Diagnosis(
                self._say("source", reason, **fields), ("take any number of hits of a document", {"per_source": None})
            )
        keeper = None if self._request.fill else self._near_duplicate(page, position, row)
        if keeper is not None:
            return self._folded(keeper, "says nearly the same", fields)
        fields |= self._beside(own)
        after = self._hits_after(page, position)
        budget = page.page.budget
        if budget is not None and position in page.shown:
            found = self._without_room(page, position, fields, budget)
            if found is not None:
                return found
        if after and self._request.profile.diversity.mmr < 1.0:
            return Diagnosis(self._say("variety", "hits that repeat less of each other took its place", **fields))
        count = len(self._kept)
        cut = fields.get("other_score")
        if cut is None:
            return Diagnosis(self._say("k", f"{count} facts stand above it", **fields))
        return Diagnosis(self._say("k", f"it scores {own.score:.4g} and hit {count}, the last, {cut:.4g}", **fields))

    def _folded(self, keeper: str, what: str, fields: dict[str, Any]) -> Diagnosis:
        if self._arguments.get("token_budget") is None:
            fix: tuple[str, dict[str, Any]] = ("fold nothing", {"fill": True})
        else:
            fix = (f"leave out {keeper}", _narrow(self._arguments, {"NOT": {"id": keeper}}))
        return Diagnosis(self._say("folded", f"it is folded into {keeper}, which {what}", other=keeper, **fields), fix)

    def _same_content(self, page: Ranking, position: int, row: int) -> str | None:
        """Return the hit that holds the same content; None where the row was not scored above 0."""
        if position not in page.scored:
            return None
        view = self._view
        versions = view.snapshot.values("chunks", "version", np.array([row], np.int64))
        for other in self._ranked.pages:
            at = other.order + [p for p in other.scored if p not in other.order]
            rows = other.candidates.rows[at]
            same = [
                r
                for r, v in zip(rows.tolist(), view.snapshot.values("chunks", "version", rows), strict=True)
                if v == versions[0]
            ]
            if same and same[0] != row:
                return str(view.snapshot.values("chunks", "id", np.array(same[:1], np.int64))[0])
        return None

    def _would_be_passed(self, page: Ranking, position: int) -> bool:
        """Tell whether a document has its hits before a candidate below the last hit is reached."""
        looked_at = {*page.shown, *page.passed}
        if self._request.per_source is None or position in looked_at:
            return False
        varied = vary(self._view, self._request.profile, page.candidates, page.order, {})
        rest = [each for each in varied if each not in looked_at]
        further = msgspec.structs.replace(
            page.page, wanted=len(rest), files={k: [*v] for k, v in page.page.files.items()}
        )
        return position in limit_sources(self._view, self._request, further, page.candidates.rows, rest)[1]

    def _near_duplicate(self, page: Ranking, position: int, row: int) -> str | None:
        """Return the hit that a candidate nearly repeats; None where it repeats none."""
        if self._request.profile.diversity.near_duplicate >= 1.0:
            return None
        # the same choice again, over all candidates: whoever was not reached before the last hit is judged too
        folded: dict[int, list[str]] = {}
        chosen = list(vary(self._view, self._request.profile, page.candidates, page.order, folded))
        if position in chosen:
            return None
        rows = page.candidates.rows[chosen]
        vectors, mine = head_vectors(self._view, rows), head_vectors(self._view, np.array([row], np.int64))
        if vectors is None or mine is None:
            return None
        nearest = int(rows[int(np.argmax(vectors @ mine[0]))])
        return str(self._view.snapshot.values("chunks", "id", np.array([nearest], np.int64))[0])

    def _hits_after(self, page: Ranking, position: int) -> bool:
        """Tell whether a hit of the page stands below a candidate."""
        places = {each: i for i, each in enumerate(page.order)}
        return any(places.get(each, -1) > places[position] for each in page.kept)

    def _without_room(self, page: Ranking, position: int, fields: dict[str, Any], budget: int) -> Diagnosis | None:
        """Answer for a candidate that did not fit; None where it would have."""
        at = page.shown.index(position)
        sizes = count_row_tokens(self._view, page.candidates.rows[page.shown[: at + 1]]).tolist()
        kept = set(page.kept)
        used = sum(size for each, size in zip(page.shown, sizes, strict=False) if each in kept)
        room, tokens = budget - used, sizes[-1]
        if tokens <= room and not self._request.profile.diversity.slots:
            return None
        if self._request.profile.diversity.slots:  # chosen by what still fits, in no order of scores
            room = budget - int(count_row_tokens(self._view, page.candidates.rows[page.kept]).sum())
            if tokens <= room or len(page.kept) >= page.page.wanted:
                return None
        asked = self._request.token_budget  # a later page has what the pages before it left
        reason = f"its {tokens} tokens do not fit: of the budget of {asked}, {room} were left at its place"
        fix = ("give it room", {"token_budget": sum(sizes)})
        return Diagnosis(self._say("budget", reason, tokens=tokens, room=room, **fields), fix)


def _behind(how: str, lane: LaneDistance) -> str:
    return f"{how} it has {lane.own:.3g}, and the last of {lane.depth} {lane.cut:.3g}"


def _narrow(arguments: Arguments, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the argument of a filter with one more part."""
    where = arguments.get("where")
    return {"where": {"AND": [where, part]} if where else part}


def drop_parts(
    where: Mapping[str, Any], fails: Callable[[Mapping[str, Any]], bool]
) -> tuple[list[str], dict[str, Any]]:
    """Return the parts of a filter that fail, as JSON, and the filter without them."""
    failed: list[str] = []
    rest: dict[str, Any] = {}

    def keep(part: Mapping[str, Any]) -> bool:
        if fails(part):
            failed.append(msgspec.json.encode(part, enc_hook=str).decode())
            return False
        return True

    for key, value in where.items():
        if key == "AND":
            inner = [drop_parts(each, fails) for each in value]
            failed += [name for names, _ in inner for name in names]
            kept: Sequence[Any] = [left for _, left in inner if left]
            rest |= {key: kept} if kept else {}
        elif key == "NOT" and not isinstance(value, Mapping):
            kept = [each for each in value if keep({key: each})]
            rest |= {key: kept} if kept else {}
        elif isinstance(value, Mapping) and key not in ("OR", "NOT"):
            tests = {name: operand for name, operand in value.items() if keep({key: {name: operand}})}
            rest |= {key: tests} if tests else {}
        elif keep({key: value}):
            rest[key] = value
    return failed, rest
