"""Haystack: a document store in a vault, and its retriever.

A document is a chunk; what is not its content, embedding included, is kept in the metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from lamina import InvalidArgument, MissingExtra, Vault
from lamina.adapters.storage import chunks_by_id, delete_chunks, open_storage

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.errors import FilterError
    from haystack.utils.filters import document_matches_filter
except ImportError as _error:
    raise MissingExtra("Haystack's document store needs haystack-ai", "haystack") from _error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lamina import Chunk, Hit
    from lamina.options import PathLike

_PAGE: Final = 500
_MOST_RANKED: Final = 10_000


class LaminaDocumentStore:
    """Document store of Haystack in a vault.

    Parameters
    ----------
    vault : Vault or path
        An open vault, or the folder of one; it is made where there is none.
    embedding_dim : int, optional
        Dimensions of the documents' embeddings, where a pipeline makes them; the vault is then made for these. Without it
        the vault embeds texts by its own model, and embeddings of documents are only kept.
    collection : str
        Collection of the documents: several stores may share a vault.

    Examples
    --------
    >>> store = LaminaDocumentStore("notes/.lamina")  # doctest: +SKIP
    >>> store.write_documents([Document(content="We moved to PostgreSQL 16.")])  # doctest: +SKIP
    1
    """

    def __init__(
        self, vault: Vault | PathLike, *, embedding_dim: int | None = None, collection: str = "haystack"
    ) -> None:
        def unembedded(texts: Sequence[str]) -> NDArray[np.float32]:
            return np.zeros((len(texts), embedding_dim or 0), np.float32)

        self._vault = open_storage(vault, unembedded if embedding_dim else None, "haystack", embedding_dim)
        self._dim, self._collection = embedding_dim, collection

    def to_dict(self) -> dict[str, Any]:
        """Return the store's settings; the vault by its path."""
        return default_to_dict(self, vault=str(self._vault.path), embedding_dim=self._dim, collection=self._collection)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LaminaDocumentStore:
        """Open the store of some settings."""
        return cast("LaminaDocumentStore", default_from_dict(cls, data))

    def count_documents(self) -> int:
        """Return the number of documents."""
        return len(self._vault.list(self._where, None))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter of Haystack's accepts, in the order of writing."""
        chunks = sorted(self._vault.list(self._where, None), key=lambda chunk: chunk.row)
        return list(_matching(map(_document, chunks), filters))

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Write documents in one commit; return the number of those written.

        Raises
        ------
        DuplicateDocumentError
            When an id is known and the policy is FAIL or NONE; nothing is written.
        InvalidArgument, VaultReadOnly, VaultLocked, OSError
        """
        if not isinstance(documents, list) or any(not isinstance(document, Document) for document in documents):
            raise InvalidArgument("write_documents takes a list of Documents")
        known = set(chunks_by_id(self._vault, [document.id for document in documents], self._where))
        wanted: dict[str, Document] = {}
        for document in documents:
            if document.id in known or document.id in wanted:
                if policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL):
                    raise DuplicateDocumentError(
                        f"a document with the id {document.id!r} is in the store; nothing was written"
                    )
                if policy is DuplicatePolicy.SKIP:
                    continue
            wanted[document.id] = document
        if wanted:
            records = [self._record(document) for document in wanted.values()]
            self._vault.add(records, collection=self._collection, on_conflict="overwrite")
        return len(documents) if policy is not DuplicatePolicy.SKIP else len(wanted)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Erase documents; unknown ids are passed over."""
        delete_chunks(self._vault, document_ids, self._where)

    def search(
        self,
        query: str,
        embedding: Sequence[float] | None = None,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
    ) -> list[Document]:
        """Return the best documents for a question, with their scores.

        Ranked by words and vectors; in a store with ``embedding_dim`` by words alone where no embedding is given, and by
        the embedding alone where the question is empty.
        """
        found: list[Document] = []
        for document in _matching(map(_scored, self._ranked(query, embedding, top_k)), filters):
            found.append(document)
            if len(found) == top_k:
                break
        return found

    def _ranked(self, query: str, embedding: Sequence[float] | None, top_k: int) -> Iterator[Hit]:
        lanes = None
        if self._dim and (embedding is None or not query.strip()):
            lanes = ["lexical"] if embedding is None else ["vector"]
        vector = embedding if self._dim else None
        offset, size = 0, min(top_k, _MOST_RANKED)
        while size:
            hits = self._vault.recall(
                query, size, offset=offset, lanes=cast("Any", lanes), vector=vector, where=self._where, syntax=False,
                time="off", fill=True,
            )  # fmt: skip
            yield from hits
            if len(hits) < size:
                return
            offset += len(hits)
            size = min(_PAGE, _MOST_RANKED - offset)

    def _record(self, document: Document) -> dict[str, Any]:
        try:
            kept = document.to_dict(flatten=False)
        except RecursionError as error:
            raise InvalidArgument(f"a document is nested too deeply ({error}); nothing was written") from error
        text = document.content if document.content and document.content.strip() else None
        if text is not None:
            del kept["content"]
        record = {"id": document.id, "text": text or document.id, "metadata": {"haystack": kept}}
        if self._dim:
            record["vector"] = document.embedding or [0.0] * self._dim
        return record

    @property
    def _where(self) -> dict[str, object]:
        return {"collection": self._collection}


@component
class LaminaRetriever:
    """Retriever of a `LaminaDocumentStore`: by words and vectors.

    Parameters
    ----------
    document_store : LaminaDocumentStore
        The store.
    filters : dict, optional
        A filter of Haystack's; one given to `run` takes its place.
    top_k : int
        Maximum number of documents.
    """

    def __init__(
        self, document_store: LaminaDocumentStore, filters: dict[str, Any] | None = None, top_k: int = 10
    ) -> None:
        if not isinstance(document_store, LaminaDocumentStore):
            raise InvalidArgument(f"document_store is a {type(document_store).__name__}; give a LaminaDocumentStore")
        self.document_store, self.filters, self.top_k = document_store, filters, top_k

    def to_dict(self) -> dict[str, Any]:
        """Return the component's settings."""
        return default_to_dict(
            self, document_store=self.document_store.to_dict(), filters=self.filters, top_k=self.top_k
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LaminaRetriever:
        """Make the component of some settings."""
        known = data["init_parameters"]
        store = LaminaDocumentStore.from_dict(known["document_store"])
        return cast(
            "LaminaRetriever", default_from_dict(cls, {**data, "init_parameters": {**known, "document_store": store}})
        )

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str = "",
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Return the best documents for a question, its embedding, or both."""
        found = self.document_store.search(
            query, query_embedding, filters=self.filters if filters is None else filters, top_k=top_k or self.top_k
        )
        return {"documents": found}


def _matching(documents: Iterator[Document], filters: Mapping[str, Any] | None) -> Iterator[Document]:
    if not filters:
        yield from documents
        return
    if "operator" not in filters and "conditions" not in filters:
        raise FilterError("the filter has neither operator nor conditions; see Haystack's metadata filtering")
    for document in documents:
        if document_matches_filter(filters=dict(filters), document=document):
            yield document


def _document(chunk: Chunk) -> Document:
    kept = cast("dict[str, Any]", chunk.metadata["haystack"])
    return Document.from_dict({"content": chunk.text, **kept})


def _scored(hit: Hit) -> Document:
    return replace(_document(hit), score=hit.score)


__all__ = ["LaminaDocumentStore", "LaminaRetriever"]
