"""LangGraph: a store in a vault.

An item is a chunk whose metadata holds its namespace, key and value; more texts of one item
are chunks of their own. Puts of one batch are one commit, as are its deletions.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from lamina import ChunkNotFound, InvalidArgument, MissingExtra, Vault
from lamina.adapters.storage import chunks_by_id, delete_chunks, open_storage, plain_json

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        tokenize_path,
    )
except ImportError as _error:
    raise MissingExtra("LangGraph's store needs langgraph-checkpoint", "langgraph") from _error

if TYPE_CHECKING:
    from lamina import Chunk
    from lamina.options import PathLike

Namespace = tuple[str, ...]

_ROOT: Final = "langgraph:"
"""Collections of namespaces begin with it: ``langgraph:users.ann.``"""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER: Final = 2**53
"""Moment, in µs, at which an item without a time to live ends."""
_PAGE: Final = 2_000
_MOST_RANKED: Final = 10_000
"""A recall ranks no more; items beyond follow unranked."""
_MINUTE_US: Final = 60_000_000


class LaminaStore(BaseStore):
    """Store of LangGraph in a vault.

    Values are JSON objects. Searches list the newest items first; with a query they rank by the vault's own words and
    vectors, or by the cosine of ``index["embed"]`` where it is given, as `InMemoryStore` does. Items whose time to live is
    over are not found; `sweep_ttl` erases them. Secrets in values are masked, as everywhere in a vault.

    Parameters
    ----------
    vault : Vault or path
        An open vault, or the folder of one; it is made where there is none.
    index : IndexConfig, optional
        Embedding of LangGraph's: ``{"dims": 1536, "embed": ..., "fields": ["text"]}``. Without ``embed`` the vault's own
        model is used, on the fields named.
    ttl : TTLConfig, optional
        Default time to live, in minutes, and whether reading renews it.

    Examples
    --------
    >>> store = LaminaStore("agent/.lamina")  # doctest: +SKIP
    >>> store.put(("users", "ann"), "prefs", {"editor": "vim"})  # doctest: +SKIP
    >>> store.search(("users",), query="which editor")  # doctest: +SKIP
    """

    supports_ttl = True

    def __init__(
        self,
        vault: Vault | PathLike,
        *,
        index: IndexConfig | Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        config: Mapping[str, Any] = index or {}
        embed = config.get("embed")
        self._embeddings = ensure_embeddings(embed) if embed is not None else None
        self._fields = [(path, _tokens(path)) for path in config.get("fields") or ["$"]]
        self.ttl_config = ttl
        model = self._embeddings
        self._vault = open_storage(
            vault, None if model is None else model.embed_documents, embed, config.get("dims") if model else None
        )

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: reads first, as they find the store, then the last put of every key."""
        puts: dict[tuple[Namespace, str], PutOp] = {}
        renewed: dict[str, Chunk] = {}
        results = [self._read(op, puts, renewed) for op in ops]
        for namespace, key in puts:
            renewed.pop(_item_id(namespace, key), None)
        self._write(list(puts.values()), list(renewed.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations on a thread; see `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Erase items whose time to live is over; return their number."""
        over = {"collection": {"startswith": _ROOT}, "metadata.langgraph.ends_us": {"lte": self._now_us()}}
        found = self._vault.list(over, None)
        if found:
            self._vault.forget([chunk.id for chunk in found], dry_run=False)
        return sum(_part(chunk) == 0 for chunk in found)

    # ------------------------------------------------------------------ reading

    def _read(self, op: Op, puts: dict[tuple[Namespace, str], PutOp], renewed: dict[str, Chunk]) -> Result:
        if isinstance(op, PutOp):
            _check_namespace(op.namespace)
            puts[op.namespace, op.key] = op
            return None
        if isinstance(op, GetOp):
            chunk = self._get(op)
            if chunk is not None and op.refresh_ttl:
                renewed[chunk.id] = chunk
            return None if chunk is None else _item(chunk)
        if isinstance(op, SearchOp):
            found = self._search(op)
            if op.refresh_ttl:
                renewed.update({chunk.id: chunk for chunk, _ in found})
            return [SearchItem(**_fields(chunk), score=score) for chunk, score in found]
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise InvalidArgument(
            f"{type(op).__name__} is no operation of a store; give GetOp, PutOp, SearchOp or ListNamespacesOp"
        )

    def _get(self, op: GetOp) -> Chunk | None:
        name = _item_id(op.namespace, op.key)
        try:
            chunk = self._vault.get(name)
        except ChunkNotFound:
            return None
        is_item = chunk.id == name and chunk.status == "active"  # not a part whose id begins like this one
        return chunk if is_item and _record(chunk)["ends_us"] > self._now_us() else None

    def _search(self, op: SearchOp) -> list[tuple[Chunk, float | None]]:
        last = op.offset + op.limit
        found: list[tuple[Chunk, float | None]] = []
        for chunk, score in self._ranked(op) if op.query else self._newest(op):
            if all(_matches(_value(chunk).get(key), wanted) for key, wanted in (op.filter or {}).items()):
                found.append((chunk, score))
            if len(found) >= last:
                break
        return found[op.offset :]

    def _newest(self, op: SearchOp) -> Iterator[tuple[Chunk, float | None]]:
        """Yield the items of a namespace, newest first."""
        where = {"AND": [self._where(op.namespace_prefix), {"metadata.langgraph.part": 0}]}
        offset, size = 0, op.offset + op.limit
        while page := self._vault.list(where, max(size, 1), offset=offset):
            yield from ((chunk, None) for chunk in page)
            if len(page) < size:
                return
            offset, size = offset + len(page), _PAGE

    def _ranked(self, op: SearchOp) -> Iterator[tuple[Chunk, float | None]]:
        """Yield the items of a namespace, best first, then those that are not indexed."""
        where = {"AND": [self._where(op.namespace_prefix), {"metadata.langgraph.indexed": True}]}
        how: dict[str, Any] = {"where": where, "fill": True, "syntax": False, "time": "off"}
        query = str(op.query)
        if self._embeddings is not None:
            query, how = "", {**how, "vector": self._embeddings.embed_query(query), "lanes": ["vector"]}
        seen: set[str] = set()
        offset, size = 0, min(max(op.offset + op.limit, 1), _MOST_RANKED)
        while size and (hits := self._vault.recall(query, size, offset=offset, **how)):
            items = [_parent(hit) for hit in hits]
            wanted = [name for hit, name in zip(hits, items, strict=True) if name != hit.id and name not in seen]
            parents = chunks_by_id(self._vault, wanted, {})
            for hit, name in zip(hits, items, strict=True):
                if name in seen:
                    continue  # its best part came first
                seen.add(name)
                chunk = hit if name == hit.id else parents.get(name)
                if chunk is not None:
                    cosine = hit.terms.get("cosine")
                    yield chunk, float(cosine or 0.0) if "vector" in how else hit.score
            if len(hits) < size:
                break
            offset += len(hits)
            size = min(_PAGE, _MOST_RANKED - offset)
        for chunk, _ in self._newest(op):
            if chunk.id not in seen:
                yield chunk, None

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        where = {"AND": [self._where(()), {"metadata.langgraph.part": 0}]}
        known = {tuple(_record(chunk)["namespace"]) for chunk in self._vault.list(where, None)}
        found = {ns for ns in known if all(_fits(condition, ns) for condition in op.match_conditions or ())}
        if op.max_depth is not None:
            found = {namespace[: op.max_depth] for namespace in found}
        return sorted(found)[op.offset : op.offset + op.limit]

    def _where(self, prefix: Namespace) -> dict[str, object]:
        return {"collection": {"startswith": _collection(prefix)}, "metadata.langgraph.ends_us": {"gt": self._now_us()}}

    def _now_us(self) -> int:
        return (self._vault.now - _EPOCH) // timedelta(microseconds=1)

    # ------------------------------------------------------------------ writing

    def _write(self, puts: Sequence[PutOp], renewed: Sequence[Chunk]) -> None:
        names = {_item_id(op.namespace, op.key): op for op in puts}
        known = chunks_by_id(self._vault, list(names), {"collection": {"startswith": _ROOT}})
        records = [
            part
            for name, op in names.items()
            if op.value is not None
            for part in self._parts(name, op, known.get(name))
        ]
        self._embed(records)
        stale = {old for name, chunk in known.items() for old in _part_ids(name, _record(chunk)["parts"])}
        stale -= {str(record["id"]) for record in records}
        stale |= {name for name, op in names.items() if op.value is None and name in known}
        if records:
            self._vault.add(records, on_conflict="overwrite")
        if stale:
            delete_chunks(self._vault, sorted(stale), {"collection": {"startswith": _ROOT}})
        self._renew(renewed)

    def _parts(self, name: str, op: PutOp, old: Chunk | None) -> list[dict[str, Any]]:
        """Return the records of an item: the first holds its value, each the text of a field."""
        assert op.value is not None
        value = plain_json(dict(op.value), f"the value of {op.key!r}")
        texts = [] if op.index is False else self._texts(value, op.index)
        now = self._now_us()
        record = {
            "namespace": list(op.namespace),
            "key": op.key,
            "value": value,
            "created_us": _record(old)["created_us"] if old is not None else now,
            "updated_us": now,
            "ttl": op.ttl,
            "ends_us": _NEVER if op.ttl is None else now + int(op.ttl * _MINUTE_US),
            "parts": max(len(texts) - 1, 0),
        }
        shared = {"type": "note", "collection": _collection(op.namespace), "title": op.key}
        first = texts[0] if texts else msgspec.json.encode(value).decode()
        records = [{
            **shared, "id": name, "text": first,
            "metadata": {"langgraph": {**record, "part": 0, "indexed": bool(texts)}},
        }]  # fmt: skip
        for i, text in enumerate(texts[1:], 1):
            part = {"part": i, "indexed": True, "item": name, "ends_us": record["ends_us"]}
            records.append({**shared, "id": f"{name}.{i}", "text": text, "metadata": {"langgraph": part}})
        return records

    def _texts(self, value: dict[str, Any], index: Sequence[str] | None) -> list[str]:
        fields = self._fields if index is None else [(path, _tokens(path)) for path in index]
        found = [text for _, tokens in fields for text in get_text_at_path(value, tokens)]
        return [text for text in found if text.strip()]

    def _embed(self, records: list[dict[str, Any]]) -> None:
        """Give records the vectors of the store's own model; zero for what is not indexed."""
        if self._embeddings is None or not records:
            return
        indexed = [record for record in records if record["metadata"]["langgraph"]["indexed"]]
        vectors = self._embeddings.embed_documents([record["text"] for record in indexed]) if indexed else []
        for record, vector in zip(indexed, vectors, strict=True):
            record["vector"] = vector
        size = len(vectors[0]) if vectors else len(self._embeddings.embed_query("size"))
        for record in records:
            record.setdefault("vector", [0.0] * size)

    def _renew(self, chunks: Sequence[Chunk]) -> None:
        """Begin the time to live of some items again."""
        for chunk in chunks:
            record = _record(chunk)
            if record["ttl"] is None:
                continue
            ends = self._now_us() + int(record["ttl"] * _MINUTE_US)
            for name in [chunk.id, *_part_ids(chunk.id, record["parts"])]:
                known = self._vault.get(name)
                self._vault.update(name, metadata={"langgraph": {**_record(known), "ends_us": ends}})


def _tokens(path: str) -> Any:
    return path if path == "$" else tokenize_path(path)


def _check_namespace(namespace: Namespace) -> None:
    if not namespace or any(not isinstance(label, str) or not label or "." in label for label in namespace):
        raise InvalidNamespaceError(
            f"namespace={namespace!r} must be a tuple of texts that are not empty and hold no dot"
        )


def _collection(namespace: Namespace) -> str:
    return _ROOT + "".join(f"{label}." for label in namespace)


def _item_id(namespace: Namespace, key: str) -> str:
    """Return the id of an item's chunk."""
    names = msgspec.json.encode(plain_json([*namespace, key], f"the key {key!r} of {namespace!r}"))
    return "lg" + hashlib.sha256(names).hexdigest()[:30]


def _part_ids(name: str, parts: int) -> list[str]:
    return [f"{name}.{i}" for i in range(1, parts + 1)]


def _record(chunk: Chunk) -> dict[str, Any]:
    return cast("dict[str, Any]", chunk.metadata["langgraph"])


def _part(chunk: Chunk) -> int:
    return int(_record(chunk)["part"])


def _parent(chunk: Chunk) -> str:
    """Return the id of the chunk that holds an item's value."""
    return str(_record(chunk).get("item", chunk.id))


def _value(chunk: Chunk) -> dict[str, Any]:
    return cast("dict[str, Any]", _record(chunk)["value"])


def _fields(chunk: Chunk) -> dict[str, Any]:
    record = _record(chunk)
    created, updated = (_moment(record[name]) for name in ("created_us", "updated_us"))
    return {
        "namespace": tuple(record["namespace"]), "key": record["key"], "value": record["value"],
        "created_at": created, "updated_at": updated,
    }  # fmt: skip


def _moment(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)


def _item(chunk: Chunk) -> Item:
    return Item(**_fields(chunk))


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    """Return True where a namespace has a prefix or suffix, in which ``*`` is any label."""
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        labels = namespace[: len(path)]
    elif condition.match_type == "suffix":
        labels = namespace[len(namespace) - len(path) :]
    else:
        raise InvalidArgument(f"match_type={condition.match_type!r} must be prefix or suffix")
    return all(wanted in ("*", label) for wanted, label in zip(path, labels, strict=True))


def _matches(value: Any, wanted: Any) -> bool:
    """Compare a value with an operand: operators begin with ``$``, objects match by their keys."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compare(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, Mapping) and all(_matches(value.get(key), item) for key, item in wanted.items())
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(_matches(one, other) for one, other in zip(value, wanted, strict=True))
        )
    return _same(value, wanted)


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return _matches(value, operand) is (operator == "$eq")
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise InvalidArgument(f"filter operator {operator!r} is unknown; allowed are $eq, $ne, $gt, $gte, $lt, $lte")
    if isinstance(value, str) is not isinstance(operand, str) or value is None or operand is None:
        return False  # text and numbers do not compare
    if not isinstance(value, str | int | float) or not isinstance(operand, str | int | float):
        return False
    left, right = cast("Any", value), cast("Any", operand)
    return bool({"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[operator])


def _same(value: Any, wanted: Any) -> bool:
    """Equality of JSON values: true is not 1."""
    return isinstance(value, bool) is isinstance(wanted, bool) and bool(value == wanted)
