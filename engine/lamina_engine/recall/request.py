"""Recall request: the arguments of a recall, validated before any work."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lamina_engine.arguments import flag_of, text_of, whole_of
from lamina_engine.clock import Instant, zone
from lamina_engine.errors import InvalidArgument
from lamina_engine.profiles import Profile, check_intent
from lamina_engine.recall.filters import Node, Where, parse_filter
from lamina_engine.recall.operators import ParsedQuery, parse_query
from lamina_engine.recall.scopes import PreferredScope
from lamina_engine.recall.scopes import check_mode as check_scope_mode
from lamina_engine.recall.time_window import TimeWindow, check_mode
from lamina_kernels.distances import unit_rows, unit_rows_numpy

PER_SOURCE = 2
"""Hits of one file, unless the caller says otherwise: an index or a long page must not fill the list."""
LANES = ("lexical", "vector", "facts")
MAX_K = 10_000
MAX_QUERY_CHARS = 20_000
"""Longer queries are truncated: a pasted log must not take seconds."""
MAX_OPERATORS = 64
"""A query with more operators is a text that was pasted: it has none."""
MOST_COURTEOUS_CHARS = 1_000
"""Longer questions are texts that were pasted."""
_OPENINGS = frozenset(
    re.findall(
        r"\S+",
        """hi hello hey hiya howdy greetings good please pls kindly can could would will do any i i'd i'm we we'd may just only
        a one quick excuse sorry tell remind let hallo guten bitte kannst könntest können könnten weißt weisst wissen sag
        bonjour bonsoir salut peux pourrais pouvez pourriez sais savez dis est s hola buenos buenas me puedes puede podrías
        podría sabes dime por ciao buongiorno mi puoi potresti può sai dimmi per olá ola oi você pode poderia podes hoi
        goedemorgen kun kunt kan alsjeblieft alstublieft""",
    )
)
_CLOSINGS = frozenset(
    re.findall(
        r"\S+",
        """thanks thank thx ty cheers appreciated appreciate please pls if when that bitte danke dank plaît plait merci favor
        gracias favore grazie obrigado obrigada alsjeblieft alstublieft bedankt""",
    )
)
"""With one of the first before a question, or of the second near its end, there may be courtesy around it."""
_CLOSING_WORDS = 10
_SIGNS = frozenset('"\u201c*~+-:')
"""An operator has one of these at least."""


class Request(Struct, frozen=True):
    """Validated arguments of one recall."""

    text: str
    """The query; without courtesy, the signs of its operators, and what they exclude."""
    k: int
    """Hits to rank, those that `offset` skips among them."""
    profile: Profile
    where: Node
    tz: str
    now_us: int
    since_us: int | None
    until_us: int | None
    as_of_us: int | None
    token_budget: int | None
    lanes: tuple[str, ...]
    vector: NDArray[np.float32] | None
    intent: str | None = None
    identity: str | None = None
    """Entity that "I" refers to, over that of the vault's configuration."""
    session: str | None = None
    """Current session, for profiles that prefer its chunks."""
    time: str | None = None
    window: TimeWindow | None = None
    """Time window of the question, set once the vault is open; None without one."""
    parsed: ParsedQuery | None = None
    """The query's operators, where it has any."""
    fill: bool = False
    """True to return k rows as long as k are selected, matching or not."""
    offset: int = 0
    """Best hits to leave out."""
    min_confidence: float | None = None
    """Confidence below which nothing is returned."""
    candidates: dict[str, float] | None = None
    """Distances by id of what the caller found elsewhere: nothing else is recalled."""
    per_source: int | None = None
    """Hits of one file, at most; None for any number."""
    named: frozenset[int] = frozenset()
    """Codes of the agents that the question names, set once the vault is open."""
    scope: str | None = None
    scopes: tuple[PreferredScope, ...] = ()
    """Projects, people and folders that the question names, set once the vault is open."""

    @property
    def aged_us(self) -> int:
        """Reference time of ages: now, or the end of the question's window if that is past."""
        return self.now_us if self.window is None else min(self.now_us, self.window.end_us)


def make_request(
    text: str,
    profile: Profile,
    *,
    now_us: int,
    k: int = 10,
    where: Where | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    as_of: Instant | None = None,
    now: Instant | None = None,
    token_budget: int | None = None,
    lanes: tuple[str, ...] | list[str] | None = None,
    vector: NDArray[np.float32] | list[float] | None = None,
    intent: str | None = None,
    identity: str | None = None,
    session: str | None = None,
    time: str | None = None,
    scope: str | None = None,
    syntax: bool = False,
    fill: bool = False,
    offset: int = 0,
    per_source: int | None = PER_SOURCE,
    min_confidence: float | None = None,
    candidates: object = None,
    dim: int | None = None,
    empty: bool = False,
    tz: str = "UTC",
) -> Request:
    """Validate the arguments of ``Vault.recall`` on a space of ``dim`` dimensions."""
    # ``empty``: the vault has no rows, so a vector of any dimension finds nothing
    if not isinstance(text, str):
        raise InvalidArgument(f"query must be text, not {type(text).__name__}")
    k = whole_of(k, "k", 1, MAX_K)
    offset = whole_of(offset, "offset", 0, MAX_K - k, instead=" with this k")
    if token_budget is not None:
        token_budget = whole_of(token_budget, "token_budget", of=" of tokens", instead=", or None")
    if per_source is not None:
        per_source = whole_of(per_source, "per_source", of=" of hits", instead=", or None for any number")
    if flag_of(fill, "fill") and token_budget is not None:
        raise InvalidArgument("fill and token_budget were given; a budget leaves hits out, fill adds them: give one")
    zone(tz)
    text = _plain_text(text[:MAX_QUERY_CHARS])
    parsed = parse_operators(text) if flag_of(syntax, "syntax") else None
    present = _now(now, as_of, now_us, tz)
    since_us = _moment(since, tz, present, "since")
    until_us = _moment(until, tz, present, "until")
    if since_us is not None and until_us is not None and since_us >= until_us:
        raise InvalidArgument(
            f"since={since!r} is not before until={until!r}; the window is half-open: since <= created_at < until"
        )
    return Request(
        text=text if parsed is None else parsed.text,
        k=k + offset,
        profile=profile,
        where=parse_filter(where, tz, present),
        tz=tz,
        now_us=present,
        since_us=since_us,
        until_us=until_us,
        as_of_us=_moment(as_of, tz, now_us, "as_of"),
        token_budget=token_budget,
        lanes=LANES if lanes is None else _lanes(lanes),
        vector=None if empty and dim is None else _vector(vector, dim),
        intent=check_intent(intent),
        identity=identity,
        session=text_of(session, "session"),
        time=check_mode(time),
        scope=check_scope_mode(scope),
        parsed=parsed,
        fill=fill,
        offset=offset,
        per_source=None if fill or _names_source(where, parsed) else per_source,
        min_confidence=None if min_confidence is None else _confidence(min_confidence),
        candidates=None if candidates is None else _candidates(candidates),
    )


def _plain_text(text: str) -> str:
    """Return a question in small letters if all are capitals, and without courtesy around it."""
    if text.isupper() and " " in text:
        text = text.lower()
    words = re.findall(r"[\w']+", text.lower()) if len(text) <= MOST_COURTEOUS_CHARS else ()
    if not words or (words[0] not in _OPENINGS and _CLOSINGS.isdisjoint(words[-_CLOSING_WORDS:])):
        return text
    from lamina_engine.recall.courtesy import strip_courtesy  # in few questions

    return strip_courtesy(text)


def _names_source(where: object, parsed: ParsedQuery | None) -> bool:
    """Return whether a filter or an operator narrows the recall to some sources."""
    if parsed is not None and any(clause.field == "source" for clause in parsed.clauses):
        return True
    if isinstance(where, Mapping):
        return any(key == "source" or _names_source(value, None) for key, value in where.items())
    return isinstance(where, list | tuple) and any(_names_source(each, None) for each in where)


def parse_operators(text: str) -> ParsedQuery | None:
    """Return the operators of a query; None where it has none, or more than a person writes."""
    if _SIGNS.isdisjoint(text):
        return None
    parsed = parse_query(text)
    return parsed if 0 < len(parsed.clauses) <= MAX_OPERATORS else None


def _now(now: Instant | None, as_of: Instant | None, clock_us: int, tz: str) -> int:
    """Return the recall's present: the caller's ``now``, else ``as_of``, else the clock's time."""
    given = _moment(now, tz, clock_us, "now") if now is not None else _moment(as_of, tz, clock_us, "as_of")
    return clock_us if given is None else given


def _moment(value: Instant | None, tz: str, now_us: int, what: str) -> int | None:
    if value is None:
        return None
    from lamina_engine.time.moments import parse_moment  # few recalls name a date

    return parse_moment(value, tz, now_us, what=what)


def _candidates(given: object) -> dict[str, float]:
    from lamina_engine.recall.given import check_candidates  # few recalls bring any

    return check_candidates(given)


def _confidence(least: object) -> float:
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0.0 <= least <= 1.0:
        raise InvalidArgument(f"min_confidence={least!r} must be a number from 0 to 1, or None for any")
    return least


def _lanes(lanes: object) -> tuple[str, ...]:
    if not isinstance(lanes, tuple | list):
        raise InvalidArgument(f"lanes={lanes!r} must be a list that names some of {', '.join(LANES)}")
    unknown = [lane for lane in lanes if lane not in LANES]
    if unknown or not lanes:
        raise InvalidArgument(f"lanes={lanes!r} must name some of {', '.join(LANES)}")
    return tuple(lane for lane in LANES if lane in lanes)


def _narrow(vector: object) -> NDArray[np.float32]:
    """Return numbers as float32, scaled by a power of two into its range."""
    try:
        given = np.asarray(vector)
        if given.dtype.kind == "c":
            raise ValueError("complex numbers")
        wide = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument("vector must be a sequence of real numbers") from error
    most = float(np.abs(wide).max(initial=0.0))
    if not 0.0 < most < math.inf:  # also NaN
        return wide.astype(np.float32)
    return np.ldexp(wide, -math.frexp(most)[1]).astype(np.float32)


def _vector(vector: NDArray[np.float32] | list[float] | None, dim: int | None) -> NDArray[np.float32] | None:
    if vector is None:
        return None
    if isinstance(vector, np.ndarray) and vector.dtype == np.float32:
        found = vector
    else:
        found = _narrow(vector)
    if dim is None:
        raise InvalidArgument(
            "vector was given, but this vault has no vectors; leave it out, or reindex with an embedder"
        )
    if found.shape != (dim,):
        raise InvalidArgument(f"vector has shape {found.shape}, this vault's space has dimension {dim}")
    row = np.ascontiguousarray(found)[np.newaxis]
    unit = np.empty((1, dim), np.float32)
    if unit_rows.ready:
        is_finite = unit_rows(row, unit) < 0
    elif is_finite := bool(np.isfinite(row).all()):
        unit[:] = unit_rows_numpy(row)
    if not is_finite:
        raise InvalidArgument("vector holds NaN or infinity; give finite numbers")
    return unit.reshape(dim)
