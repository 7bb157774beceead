"""Calls of a vault that travel over HTTP, as MessagePack with types.

Only what stands in these tables can be asked for, and nothing of a request or an answer is run as code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from lamina.results import Answers, Hits, Results
from lamina_engine import errors
from lamina_engine.errors import InvalidArgument, LaminaError, SchemaMismatch, VaultReadOnly, name_type

if TYPE_CHECKING:
    from lamina.vault import Vault

_RESULTS: Final = "lamina_engine.results"
_FACTS: Final = "lamina_engine.facts.schema"
ONE: Final = {
    "get": f"{_RESULTS}:Chunk",
    "timeline": f"{_RESULTS}:Timeline",
    "chain": f"{_RESULTS}:Story",
    "reconstruct": f"{_RESULTS}:Reconstruction",
    "topic": "lamina_engine.topics.catalog:TopicMembers",
    "topics.get": "lamina_engine.topics.catalog:TopicMembers",
    "why_not": "lamina_engine.recall.absence:Absence",
    "diff": "lamina_engine.recall.diff:Diff",
    "facts.entity": f"{_FACTS}:Entity",
    "facts.resolve": f"{_FACTS}:Resolution",
    "links.timeline": f"{_RESULTS}:Timeline",
    "sessions.chain": f"{_RESULTS}:Story",
    "sessions.reconstruct": f"{_RESULTS}:Reconstruction",
}
"""Calls that return one record, and its type."""
MANY: Final = {
    "get_many": f"{_RESULTS}:Chunk",
    "list": f"{_RESULTS}:Chunk",
    "history": f"{_RESULTS}:Event",
    "projects": f"{_RESULTS}:Project",
    "similar": f"{_RESULTS}:Neighbor",
    "neighbors": f"{_RESULTS}:Neighbor",
    "traverse": f"{_RESULTS}:Neighbor",
    "causes": f"{_RESULTS}:Cause",
    "links": f"{_RESULTS}:Link",
    "links.unresolved": f"{_RESULTS}:UnresolvedLink",
    "links.neighbors": f"{_RESULTS}:Neighbor",
    "links.traverse": f"{_RESULTS}:Neighbor",
    "links.causes": f"{_RESULTS}:Cause",
    "links.similar": f"{_RESULTS}:Neighbor",
    "topics": "lamina_engine.topics.catalog:Topic",
    "sessions": f"{_RESULTS}:Session",
    "sessions.handoff": f"{_RESULTS}:Chunk",
    "facts": f"{_RESULTS}:Fact",
    "facts.about": f"{_RESULTS}:Fact",
    "facts.list": f"{_RESULTS}:Fact",
    "facts.contradictions": f"{_RESULTS}:Contradiction",
    "facts.entities": f"{_FACTS}:Entity",
    "facts.aliases": f"{_FACTS}:Alias",
    "facts.predicates": "lamina_engine.facts.predicates:Predicate",
}
"""Calls that return a list of records, and their type."""
PLAIN: Final = frozenset({"count", "stats", "content", "version", "tz", "incomplete", "links.graph", "facts.graph"})
"""Calls that return values of JSON."""
_OWN: Final = frozenset({"recall", "facts.ask", "vectors", "to_arrow", "topics.places"})
CALLS: Final = frozenset({*ONE, *MANY, *PLAIN, *_OWN})
"""All calls that a served vault answers."""
_WRITING: Final = frozenset({"judge"})
"""Options that make a call write."""


class Question(msgspec.Struct, frozen=True):
    """One call: its name, its arguments, and the seconds that the caller waits."""

    call: str
    arguments: list[Any]
    options: dict[str, Any]
    timeout_s: float | None = None
    incomplete: bool = False
    """Whether to answer without shards that are missing."""


class Failure(msgspec.Struct, frozen=True):
    """Error of a call: the name of its class, and its message."""

    kind: str
    message: str


def encode_question(
    call: str, arguments: Iterable[object], options: Mapping[str, object], timeout_s: float, *, incomplete: bool = False
) -> bytes:
    """Return the bytes of a call.

    Raises
    ------
    InvalidArgument
        For an argument that cannot travel.
    """
    if call not in CALLS:
        raise VaultReadOnly(
            f"{call}() is not served: it writes, or works with files of this machine; open the vault itself for it"
        )
    return msgspec.msgpack.encode(Question(call, [*arguments], dict(options), timeout_s, incomplete), enc_hook=_plain)


def decode_question(body: bytes) -> Question:
    """Return a call from its bytes.

    Raises
    ------
    InvalidArgument, VaultReadOnly
    """
    try:
        question = msgspec.msgpack.decode(body, type=Question)
    except msgspec.MsgspecError as error:
        raise InvalidArgument(f"this is no call of a vault ({error})") from error
    if question.call not in CALLS:
        raise VaultReadOnly(f"{question.call!r} is not served")
    if written := _WRITING & {name for name, value in question.options.items() if value is not None}:
        raise VaultReadOnly(f"{question.call}({min(written)}=...) writes, and a served vault is read only")
    return question


def answer(vault: Vault, question: Question) -> bytes:
    """Run a call on a vault and return the bytes of its result. Raises what the call raises."""
    place, _, name = question.call.rpartition(".")
    target = getattr(vault, place) if place else vault
    found = getattr(target, name)
    result = found(*question.arguments, **question.options) if callable(found) else found
    return msgspec.msgpack.encode(_sent(question.call, result), enc_hook=_plain)


def decode_answer(call: str, body: bytes, incomplete: Iterable[str] = ()) -> object:
    """Return the result of a call from its bytes, and the shards that did not answer.

    Raises
    ------
    SchemaMismatch
        When the cluster runs another Lamina.
    """
    try:
        if call in PLAIN:
            return cast("object", msgspec.msgpack.decode(body))
        if call in ONE:
            return _decode(body, _type(ONE[call]))
        if call in MANY:
            kind = _type(MANY[call])
            return Results(_decode(body, list[kind]), kind, incomplete)  # type: ignore[valid-type]
        if call == "facts.ask":
            return _read_answers(body, incomplete)
        return _READERS[call](body)
    except msgspec.MsgspecError as error:
        raise SchemaMismatch(
            f"the answer of the cluster cannot be read ({error}); install the same Lamina here and there"
        ) from error


def encode_error(error: Exception) -> bytes:
    """Return the bytes of an error: of the calls' own kinds its name, else a bug's."""
    known = isinstance(error, LaminaError | TypeError)
    kind = type(error).__name__ if known else "RuntimeError"
    return msgspec.msgpack.encode(Failure(kind, str(error) if known else repr(error)))


def decode_error(body: bytes) -> Exception:
    """Return the error that a replica sent."""
    failure = msgspec.msgpack.decode(body, type=Failure)
    kind = getattr(errors, failure.kind, None)
    if isinstance(kind, type) and issubclass(kind, LaminaError):
        return kind(failure.message)
    return TypeError(failure.message) if failure.kind == "TypeError" else RuntimeError(failure.message)


def _plain(value: object) -> object:
    """Return an argument or a part of a result as what MessagePack has."""
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if callable(value):
        return value()  # the terms of a hit, made when they are looked at
    if isinstance(value, Iterable):
        return list(value)
    raise InvalidArgument(f"{name_type(value)} cannot be sent to a served vault: {value!r:.80}")


# ------------------------------------------------------------------ results that are more than records


class _Recalled(msgspec.Struct, frozen=True):
    hits: list[Any]
    profile: str
    version: int
    took_ms: float
    trace: dict[str, Any]
    stems: dict[str, float]
    patterns: list[Any]
    query: str
    as_of: str | None
    confidence: float


class _Answered(msgspec.Struct, frozen=True):
    question: Any
    found: list[Any]
    answered: bool


class _Vectors(msgspec.Struct, frozen=True):
    shape: tuple[int, int]
    data: bytes


def _sent(call: str, result: Any) -> object:
    if call == "recall":
        outcome = result._cut.__self__
        trace, stems, patterns = outcome.describe()
        return _Recalled(
            list(result), outcome.profile, outcome.version, result.took_ms, trace, dict(stems), list(patterns),
            result.query, result.as_of, result.confidence,
        )  # fmt: skip
    if call == "facts.ask":
        return _Answered(result.question, list(result), result.answered)
    if call == "vectors":
        return _Vectors(result.shape, result.astype("<f4").tobytes())
    if call in ("to_arrow", "topics.places"):
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, result.schema) as stream:
            stream.write_table(result)
        return bytes(sink.getvalue())
    return list(result) if call in MANY else result


def _read_hits(body: bytes) -> Hits:
    from lamina_engine.recall.operators import Clause
    from lamina_engine.recall.pipeline import Description, Outcome
    from lamina_engine.results import Hit, NamedScope

    sent = _decode(body, _Recalled)
    if "scope" in sent.trace:
        sent.trace["scope"] = msgspec.convert(sent.trace["scope"], tuple[NamedScope, ...])
    hits = msgspec.convert(sent.hits, list[Hit], dec_hook=_made)
    patterns = msgspec.convert(sent.patterns, tuple[tuple[Clause, float], ...])
    missing = tuple(sent.trace.get("incomplete", ()))
    outcome = Outcome(
        hits, sent.profile, sent.version, sent.took_ms, missing,
        partial(Description, sent.trace, sent.stems, patterns), partial(float, sent.confidence),
    )  # fmt: skip
    return Hits(
        hits, query=sent.query, profile=sent.profile, snapshot=sent.version, as_of=sent.as_of, took_ms=sent.took_ms,
        missing=missing, rate=outcome.rate, describe=outcome.describe, cut=outcome.snippet,
    )  # fmt: skip


def _read_answers(body: bytes, incomplete: Iterable[str]) -> Answers:
    from lamina_engine.facts.parsing import Question as Parsed
    from lamina_engine.facts.questions import AnswerSet
    from lamina_engine.results import Answer

    sent = _decode(body, _Answered)
    question = msgspec.convert(sent.question, Parsed, dec_hook=_made)
    return Answers(AnswerSet(question, msgspec.convert(sent.found, list[Answer]), answered=sent.answered), incomplete)


def _read_vectors(body: bytes) -> object:
    import numpy as np

    sent = _decode(body, _Vectors)
    return np.frombuffer(sent.data, "<f4").reshape(sent.shape).astype(np.float32)


def _read_table(body: bytes) -> object:
    import pyarrow as pa

    return pa.ipc.open_stream(_decode(body, bytes)).read_all()


_READERS: Final[dict[str, Callable[[bytes], object]]] = {
    "recall": _read_hits,
    "vectors": _read_vectors,
    "to_arrow": _read_table,
    "topics.places": _read_table,
}


def _made(kind: type, value: Any) -> Any:
    """Make a part of a record that is any value, or the terms of a hit, made when looked at."""
    return value if kind is object else lambda: value


def _decode(body: bytes, kind: Any) -> Any:
    return msgspec.msgpack.decode(body, type=kind, dec_hook=_made)


def _type(name: str) -> Any:
    module, _, kind = name.partition(":")
    return getattr(import_module(module), kind)
