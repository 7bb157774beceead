"""Collections of result records: sequences that are tables, data frames and HTML too.

Both kinds speak the Arrow PyCapsule protocol, so ``pa.table(hits)`` and DuckDB's ``from hits`` read them as they are;
``hits.to_polars()`` gives a polars data frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar, cast, overload

from lamina_engine.arguments import whole_of
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from lamina_engine.facts.parsing import Question
    from lamina_engine.facts.questions import AnswerSet

    # Answer is the type of a base class, as text
    from lamina_engine.recall.pipeline import Description
    from lamina_engine.results import Answer, Chunk, Explanation, Hit, JSONValue, NamedScope, Snippet, WindowTrace  # noqa: F401

_HTML_ROWS = 50


class Record(Protocol):
    """A frozen result that has a form in JSON."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return JSON values; instants as ISO 8601 with ``Z``."""
        ...


T_co = TypeVar("T_co", bound=Record, covariant=True)


class Results(Sequence[T_co], Generic[T_co]):
    """An immutable list of result records, all of one type.

    Attributes
    ----------
    incomplete : tuple of str
        Shards that did not answer; empty unless the vault was opened with ``incomplete=True``.
    """

    def __init__(self, records: Iterable[T_co], kind: type[T_co], incomplete: Iterable[str] = ()) -> None:
        self._records = tuple(records)
        self._kind = kind
        self.incomplete: tuple[str, ...] = tuple(incomplete)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Results[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Results[T_co]:
        return (
            Results(self._records[index], self._kind, self.incomplete)
            if isinstance(index, slice)
            else self._records[index]
        )

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._records)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Results):
            return self._records == other._records
        return isinstance(other, (list, tuple)) and self._records == tuple(other)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    def __repr__(self) -> str:
        return f"<{len(self)} {self._kind.__name__}{'' if len(self) == 1 else 's'}{self._without()}>"

    def _without(self) -> str:
        return f", without {', '.join(self.incomplete)}" if self.incomplete else ""

    def _repr_html_(self) -> str:
        from lamina.tables import html_of

        return html_of(repr(self), [record.to_dict() for record in self._records[:_HTML_ROWS]], len(self))

    def to_dicts(self) -> list[dict[str, JSONValue]]:
        """Return the records as JSON values."""
        return [record.to_dict() for record in self._records]

    def to_arrow(self) -> pa.Table:
        """Return the records as an Arrow table, with timestamps in UTC and nested structs."""
        from lamina.tables import table_of

        return table_of(self._records, self._kind)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table through the Arrow PyCapsule interface."""
        stream: object = self.to_arrow().__arrow_c_stream__(requested_schema)
        return stream

    def to_pandas(self) -> pd.DataFrame:
        """Return the records as a pandas data frame.

        Raises
        ------
        MissingExtra
            When pandas is not installed.
        """
        from lamina.tables import require

        require("pandas", "to_pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the records as a polars data frame.

        Raises
        ------
        MissingExtra
            When polars is not installed.
        """
        from lamina.tables import require

        frame: pl.DataFrame = require("polars", "to_polars").from_arrow(self.to_arrow())
        return frame


class Hits(Results["Hit"]):
    """The hits of a recall, best first.

    Attributes
    ----------
    query, profile : str
        The question, and the id of the profile that ranked the hits.
    snapshot : int
        Version of the vault that was read.
    as_of : str or None
        The recorded moment that was asked for, ISO 8601 with ``Z``.
    took_ms : float
        Duration of the recall.
    confidence : float
        That the vault holds an answer, in [0, 1]; it means the same in every profile and for every k, and lies lower over
        short chat messages. Below 0.6, nothing is near enough.
    incomplete : tuple of str
        Shards that did not answer, such as ``shards/01``: statistics, and so scores, are those of what is there.

    Examples
    --------
    >>> hits = vault.recall("which database", k=2)
    >>> hits[0].id, len(hits), hits.to_arrow().schema.field("created_at").type
    ('db', 2, TimestampType(timestamp[us, tz=UTC]))
    """

    def __init__(
        self,
        hits: Iterable[Hit],
        *,
        query: str,
        profile: str,
        snapshot: int,
        as_of: str | None,
        took_ms: float,
        missing: Sequence[str],
        rate: Callable[[], float],
        describe: Callable[[], Description],
        cut: Callable[[str, int | None], Snippet],
    ) -> None:
        from lamina_engine.results import Hit

        super().__init__(hits, Hit, missing)
        self.query: str = query
        self.profile: str = profile
        self.snapshot: int = snapshot
        self.as_of: str | None = as_of
        self.took_ms: float = took_ms
        self._rate = rate
        self._describe = describe
        self._cut = cut

    @property
    def _trace(self) -> Mapping[str, object]:
        return self._describe().trace

    @property
    def confidence(self) -> float:
        """That the vault holds an answer, in [0, 1]; computed when first asked for."""
        return self._rate()

    def __repr__(self) -> str:
        return f"Hits({len(self)} for {self.query!r}, profile={self.profile!r}, {self.took_ms:.1f} ms{self._without()})"

    def snippet(self, hit: Chunk, width: int | None = None) -> Snippet:
        """Return the window of a hit's text that matches the question best.

        Its ranges are the matched words. It is computed when asked for. Without a matched word, it is the text's beginning.

        Parameters
        ----------
        hit : Hit
            One of the hits, or another chunk.
        width : int, optional
            Characters of the window; 240 by default.

        Returns
        -------
        Snippet

        Raises
        ------
        InvalidArgument

        Examples
        --------
        >>> hits = vault.recall("move to PostgreSQL", k=1)
        >>> snippet = hits.snippet(hits[0], width=40)
        >>> [snippet.text[start:stop] for start, stop in snippet.ranges]
        ['moved', 'PostgreSQL']
        """
        if width is not None:
            width = whole_of(width, "width", of=" of characters", instead=", or None")
        return self._cut(hit.text, width)

    @property
    def read_as(self) -> str | None:
        """Window of a time in the question, such as ``2026-07-01 to 2026-08-01``, or None."""
        time = cast("WindowTrace | None", self._trace.get("time"))
        return None if time is None else time["read_as"]

    @property
    def scope(self) -> tuple[NamedScope, ...]:
        """Projects, people and folders that the question names; empty where none were read."""
        return cast("tuple[NamedScope, ...]", self._trace.get("scope", ()))

    def scoring(self, least: float) -> Hits:
        """Return the hits that score at least so much, with what else is known of the recall."""
        if math.isnan(least):
            raise InvalidArgument("a least score of NaN holds for no hit; give a number")
        found = copy(self)
        found._records = tuple(hit for hit in self if hit.score >= least)
        return found

    @property
    def unknown(self) -> tuple[str, ...]:
        """Ids of given candidates that the vault does not have."""
        return tuple(cast("Sequence[str]", self._trace.get("unknown", ())))

    def explain(self) -> Explanation:
        """Return the parameters of the recall, the counts of each stage and the terms of each hit."""
        hits = [{"rank": i + 1, "id": hit.id, "score": hit.score, "terms": hit.terms} for i, hit in enumerate(self)]
        scope = {"scope": [each.to_dict() for each in self.scope]} if self.scope else {}
        return cast("Explanation", {"query": self.query, "profile": self.profile, **self._trace, **scope, "hits": hits})

    def to_dict(self, *, brief: bool = False) -> dict[str, JSONValue]:
        """Return the document of ``lamina recall --json``; ``brief`` leaves texts and terms out."""
        hits: list[JSONValue] = []
        for hit in self:
            document = hit.to_dict()
            if brief:
                del document["terms"], document["text"]
            hits.append({**document, "snippet": self.snippet(hit).to_dict()})
        return {
            "query": self.query, "profile": self.profile, "snapshot": self.snapshot, "as_of": self.as_of,
            "took_ms": round(self.took_ms, 3), "confidence": round(self.confidence, 4),
            "time": cast("JSONValue", self._trace.get("time")), "scope": [each.to_dict() for each in self.scope],
            "incomplete": list(self.incomplete), "hits": hits,
        }  # fmt: skip


class Answers(Results["Answer"]):
    """Answers from the facts, best first.

    Attributes
    ----------
    question : Question
        The question as parsed; its words are ``question.text``.
    answered : bool
        False where the facts are related, but none answers what was asked.
    intents : tuple of str
        What the question asks for, by name.
    entities : tuple of str
        Entities that the question names.
    unknown : tuple of str
        Names in the question without an entity in the vault.
    ambiguous : bool
        True where a name means several entities; the answers are about all of them.

    Examples
    --------
    >>> _ = vault.facts.add("Keystone", "port", "3055")
    >>> vault.facts.ask("what port does Keystone run on?")
    Answers(1 for 'what port does Keystone run on?')
    >>> vault.facts.ask("who owns Keystone?")
    Answers(1 for 'who owns Keystone?', related facts only)
    """

    def __init__(self, answers: AnswerSet, incomplete: Iterable[str] = ()) -> None:
        from lamina_engine.results import Answer

        super().__init__(answers, Answer, incomplete)
        self._document = answers.to_dict
        self.question: Question = answers.question
        self.answered: bool = answers.answered
        self.intents: tuple[str, ...] = answers.intents
        self.entities: tuple[str, ...] = answers.entities
        self.unknown: tuple[str, ...] = answers.unknown
        self.ambiguous: bool = answers.ambiguous

    def __repr__(self) -> str:
        related = ", related facts only" if self and not self.answered else ""
        return f"Answers({len(self)} for {self.question.text!r}{related}{self._without()})"

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the question, the answers and what was understood, as JSON values."""
        return self._document()
