"""LangChain: a retriever over a vault, and a vector store in one."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import ConfigDict, PrivateAttr

import lamina
from lamina import InvalidArgument, MissingExtra, Vault
from lamina.adapters.storage import chunks_by_id, delete_chunks, metadata_filter, open_storage

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError as _error:
    raise MissingExtra("LangChain's interfaces need langchain-core", "langchain") from _error

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun

    from lamina import Chunk, Hit
    from lamina.options import PathLike


class LaminaRetriever(BaseRetriever):
    """Retriever over a vault: what `Vault.recall` returns, as documents.

    Parameters
    ----------
    vault : Vault or path
        An open vault, or the folder of one, which is opened for reading at the first question.
    k : int
        Maximum number of documents; also an argument of ``invoke``.
    profile, where, as_of
        As in `Vault.recall`.

    Examples
    --------
    >>> retriever = LaminaRetriever(vault="notes/.lamina", k=5)  # doctest: +SKIP
    >>> retriever.invoke("why did we move to PostgreSQL")  # doctest: +SKIP
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    vault: Any
    k: int = 10
    profile: str | None = None
    where: dict[str, Any] | None = None
    as_of: Any = None
    _opened: Vault | None = PrivateAttr(default=None)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        if self._opened is None:
            self._opened = self.vault if isinstance(self.vault, Vault) else lamina.open(self.vault, mode="r")
        hits = self._opened.recall(
            query, self.k if k is None else k, profile=self.profile, where=self.where, as_of=self.as_of
        )
        return [_document_of_hit(hit) for hit in hits]


class LaminaVectorStore(VectorStore):
    """Vector store in a vault.

    Documents are chunks of one collection, under the ids given; a document added again under its id replaces it, and a
    deleted one is erased from the disk. Metadata is kept as JSON, and secrets in texts are masked, as everywhere.

    Parameters
    ----------
    vault : Vault or path
        An open vault, or the folder of one; it is made where there is none.
    embedding : Embeddings, optional
        Model of the vectors. Without one the vault's own model is used, and questions are answered by words and vectors.
    collection : str
        Collection of the documents: several stores may share a vault.

    Examples
    --------
    >>> store = LaminaVectorStore("notes/.lamina", embedding=model)  # doctest: +SKIP
    >>> store.add_texts(["We moved to PostgreSQL 16."], ids=["db"])  # doctest: +SKIP
    ['db']
    """

    def __init__(
        self, vault: Vault | PathLike, embedding: Embeddings | None = None, *, collection: str = "langchain"
    ) -> None:
        self._vault = open_storage(vault, embedding.embed_documents if embedding is not None else None, embedding)
        self._embedding = embedding
        self._collection = collection

    @property
    def embeddings(self) -> Embeddings | None:
        """Model of the vectors; None for the vault's own."""
        return self._embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add or replace documents; return their ids, new ones for those without.

        Raises
        ------
        InvalidArgument
            When the numbers of texts, metadatas and ids differ; nothing is written.
        EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError
        """
        contents = list(texts)
        for name, given in (("metadatas", metadatas), ("ids", ids)):
            if given is not None and len(given) != len(contents):
                raise InvalidArgument(f"{len(given)} {name} were given for {len(contents)} texts; give one for each")
        names = [name or str(uuid.uuid4()) for name in (ids or [None] * len(contents))]
        vectors = self._embedding.embed_documents(contents) if self._embedding is not None and contents else None
        records: dict[str, dict[str, object]] = {}
        for i, (name, text) in enumerate(zip(names, contents, strict=True)):  # of equal ids the last one counts
            records[name] = {"id": name, "text": text, "metadata": metadatas[i] if metadatas else {}}
            if vectors is not None:
                records[name]["vector"] = vectors[i]
        if records:
            self._vault.add(list(records.values()), collection=self._collection, on_conflict="overwrite")
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Erase documents by id, or all of the collection; unknown ids are passed over."""
        if ids is None:
            ids = [chunk.id for chunk in self._vault.list(self._where(None), None)]
        delete_chunks(self._vault, ids, self._where(None))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in the order of the ids."""
        found = chunks_by_id(self._vault, ids, self._where(None))
        return [_document(found[name]) for name in dict.fromkeys(ids) if name in found]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k nearest documents.

        ``filter`` is a filter on metadata in the grammar of `Vault.recall`, such as ``{"year": {"gte": 2024}}``;
        ``where`` one on the chunks' own fields.
        """
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return the k nearest documents with their cosine, or `Hit.score` of the vault's own model."""
        if self._embedding is None:
            hits = self._vault.recall(query, k, where=self._where(**kwargs), fill=True, syntax=False, time="off")
            return [(_document(hit), hit.score) for hit in hits]
        return self._nearest(self._embedding.embed_query(query), k, **kwargs)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest to a vector; see `similarity_search`."""
        return [document for document, _ in self._nearest(embedding, k, **kwargs)]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents that are near and differ from one another, of the ``fetch_k`` nearest."""
        if self._embedding is None:
            found = self.similarity_search(query, fetch_k, **kwargs)
            if not found:
                return []
            # the vault's own model embeds the question; the nearest document stands for it here
            vectors = self._vault.vectors([str(document.id) for document in found])
            chosen = maximal_marginal_relevance(vectors[0], list(vectors), lambda_mult, k)
            return [found[i] for i in chosen]
        return self.max_marginal_relevance_search_by_vector(
            self._embedding.embed_query(query), k, fetch_k, lambda_mult, **kwargs
        )

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents that are near a vector and differ from one another."""
        found = self.similarity_search_by_vector(embedding, fetch_k, **kwargs)
        if not found:
            return []
        vectors = self._vault.vectors([str(document.id) for document in found])
        chosen = maximal_marginal_relevance(np.array(embedding, np.float32), list(vectors), lambda_mult, k)
        return [found[i] for i in chosen]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store of texts; ``vault`` and ``collection`` are as in the class."""
        if "vault" not in kwargs:
            raise InvalidArgument("from_texts was given no vault; give vault=, an open vault or the folder of one")
        store = cls(embedding=embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _nearest(self, vector: Sequence[float], k: int, **kwargs: Any) -> list[tuple[Document, float]]:
        hits = self._vault.recall(
            "", k, lanes=["vector"], vector=vector, where=self._where(**kwargs), fill=True, time="off"
        )
        return [(_document(hit), float(hit.terms["cosine"] or 0.0)) for hit in hits]

    def _where(
        self, filter: Mapping[str, object] | None = None, where: Mapping[str, object] | None = None, **unknown: object
    ) -> dict[str, object]:
        if unknown:
            raise InvalidArgument(f"{', '.join(unknown)} was given; a search takes k, filter and where")
        parts = [metadata_filter(filter)] if filter else []
        return {"AND": [{"collection": self._collection}, *parts, *([where] if where else [])]}

    def _select_relevance_score_fn(self) -> Any:
        return lambda score: max(0.0, score)  # a cosine or a score is a relevance already


def _document(chunk: Chunk) -> Document:
    return Document(id=chunk.id, page_content=chunk.text, metadata=dict(chunk.metadata))


def _document_of_hit(hit: Hit) -> Document:
    """Return a hit as a document: its own fields beside its metadata."""
    fields = {
        name: getattr(hit, name) for name in ("title", "source", "type", "collection", "project", "session", "status")
    }
    created = None if hit.created_at is None else hit.created_at.isoformat()
    known = {**dict(hit.metadata), **fields, "created_at": created, "score": hit.score}
    return Document(id=hit.id, page_content=hit.text, metadata={name: v for name, v in known.items() if v is not None})
