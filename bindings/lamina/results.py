"""What recall returns: hits that know why they are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_JSON_FIELDS = (
    "id", "score", "text", "source", "title", "type", "collection", "project", "session", "created_at", "status",
    "freshness", "via", "terms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled chunk. Instants are ISO 8601 with Z."""

    id: str
    text: str
    score: float
    source: str | None
    title: str | None
    type: str
    collection: str
    project: str | None
    session: str | None
    created_at: str | None
    recorded_at: str
    status: str
    """active, or what a filter on status asked for."""
    freshness: str | None
    """Tier of the last scan of its source; None where none was made."""
    via: str | None
    """What brought it in where that was not its own match; None for a direct hit."""
    terms: dict[str, Any]
    """Every term of its score, by name; `lamina_engine.recall.explain.recompute` gives the score from them."""
    metadata: dict[str, Any] = field(default_factory=dict)
    needs_review: bool = False
    """Whether a scan of its source, or a person, says that somebody should look at it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that ``lamina recall --json`` prints."""
        return {name: getattr(self, name) for name in _JSON_FIELDS}


class Hits(Sequence[Hit]):
    """A ranked list of hits.

    Attributes
    ----------
    query, profile : str
        What was asked, and the id of the profile that answered.
    snapshot : int
        Version of the vault that was read.
    as_of : str or None
        The moment of recorded time that was asked for.
    took_ms : float
        Time of the recall.
    """

    def __init__(
        self,
        hits: Sequence[Hit],
        *,
        query: str,
        profile: str,
        snapshot: int,
        as_of: str | None,
        took_ms: float,
        trace: dict[str, Any],
    ) -> None:
        self._hits = tuple(hits)
        self.query, self.profile, self.snapshot = query, profile, snapshot
        self.as_of, self.took_ms = as_of, took_ms
        self._trace = trace

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __repr__(self) -> str:
        return f"Hits({len(self)} for {self.query!r}, profile={self.profile!r}, {self.took_ms:.1f} ms)"

    def explain(self) -> dict[str, Any]:
        """Return the record of the recall: its parameters, what each stage did, and the terms of every hit."""
        hits = [{"rank": i + 1, "id": hit.id, "score": hit.score, "terms": hit.terms} for i, hit in enumerate(self)]
        return {"query": self.query, "profile": self.profile, **self._trace, "hits": hits}

    def to_dict(self) -> dict[str, Any]:
        """Return what ``lamina recall --json`` prints."""
        return {
            "query": self.query, "profile": self.profile, "snapshot": self.snapshot, "as_of": self.as_of,
            "took_ms": round(self.took_ms, 3), "hits": [hit.to_dict() for hit in self],
        }  # fmt: skip

    def to_arrow(self) -> pa.Table:
        """Return the hits as an Arrow table; terms and metadata as JSON text."""
        import msgspec
        import pyarrow as pa

        text = {"score": pa.float64(), "terms": pa.string(), "metadata": pa.string()}
        names = (*_JSON_FIELDS, "recorded_at", "metadata")
        columns = {}
        for name in names:
            values = [getattr(hit, name) for hit in self]
            if name in ("terms", "metadata"):
                values = [msgspec.json.encode(value, order="sorted").decode() for value in values]
            columns[name] = pa.array(values, text.get(name, pa.string()))
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return the hits as a data frame (needs pandas).

        Raises
        ------
        MissingExtra
            When pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            from lamina_engine.errors import MissingExtra

            raise MissingExtra("to_pandas needs pandas; install it with `pip install 'lamina[pandas]'`") from error
        table = self.to_arrow()
        return pd.DataFrame({name: table.column(name).to_pylist() for name in table.column_names})
