"""Haystack's own suite for document stores, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "haystack", reason="haystack-ai is not installed; .ci/run tests each adapter in an environment of its own"
)

from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing.document_store import DocumentStoreBaseTests

import lamina
from lamina.adapters.haystack import LaminaDocumentStore, LaminaRetriever
from tests.adapters.hostile import survives


class TestDocumentStore(DocumentStoreBaseTests):  # type: ignore[misc]
    @pytest.fixture
    def document_store(self, tmp_path: Path) -> LaminaDocumentStore:
        return LaminaDocumentStore(tmp_path / "v")

    def test_write_documents(self, document_store: Any) -> None:
        documents = [Document(content="one"), Document(content="two", meta={"n": 1})]
        assert document_store.write_documents(documents) == 2
        self.assert_documents_are_equal(document_store.filter_documents(), documents)
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents(documents[:1])


class TestDocumentStoreOfGivenEmbeddings(TestDocumentStore):
    @pytest.fixture
    def document_store(self, tmp_path: Path) -> LaminaDocumentStore:
        return LaminaDocumentStore(tmp_path / "v", embedding_dim=768)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LaminaDocumentStore]:
    with lamina.open(tmp_path / "v", create=True) as vault:
        opened = LaminaDocumentStore(vault)
        opened.write_documents([
            Document(content="We moved to PostgreSQL 16.", meta={"team": "api"}), Document(content="Lunch is at noon.", meta={"team": "web"}),
            Document(content="PostgreSQL takes backups at two.", meta={"team": "web"}),
        ])  # fmt: skip
        yield opened


def test_documents_come_back_whole(tmp_path: Path) -> None:
    store = LaminaDocumentStore(tmp_path / "v")
    documents = [
        Document(content="text", meta={"a": {"b": [1, None, True]}, "id": "other"}, embedding=[0.1, -0.25, 1e-9], score=0.5),
        Document(blob=ByteStream(b"\x00\xff", mime_type="image/png", meta={"x": 1})), Document(content=""), Document(content="  "),
    ]  # fmt: skip
    store.write_documents(documents)
    assert LaminaDocumentStore(tmp_path / "v").filter_documents() == documents


def test_a_known_id_writes_nothing_of_a_list(store: LaminaDocumentStore) -> None:
    known = store.filter_documents()[0]
    with pytest.raises(DuplicateDocumentError):
        store.write_documents([Document(content="new"), known], DuplicatePolicy.FAIL)
    assert store.count_documents() == 3
    assert store.write_documents([Document(content="new"), known], DuplicatePolicy.SKIP) == 1


def test_a_pipeline_retrieves_and_comes_back_from_its_settings(store: LaminaDocumentStore) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", LaminaRetriever(store, top_k=2))
    found = pipeline.run({"retriever": {"query": "which database, PostgreSQL?"}})["retriever"]["documents"]
    assert len(found) == 2
    assert found[0].score > 0
    assert "PostgreSQL" in found[0].content
    web = {"operator": "==", "field": "meta.team", "value": "web"}
    found = pipeline.run({"retriever": {"query": "PostgreSQL", "filters": web, "top_k": 9}})["retriever"]["documents"]
    assert [d.meta["team"] for d in found] == ["web", "web"]
    again = LaminaRetriever.from_dict(LaminaRetriever(store, web).to_dict())
    assert [d.content for d in again.run("PostgreSQL")["documents"]] == [d.content for d in found]


def test_the_nearest_embedding_is_found(tmp_path: Path) -> None:
    store = LaminaDocumentStore(tmp_path / "v", embedding_dim=3)
    store.write_documents([Document(content=name, embedding=vector) for name, vector in (
        ("x", [1.0, 0.0, 0.0]), ("y", [0.0, 1.0, 0.0]), ("minus x", [-1.0, 0.1, 0.0]))])  # fmt: skip
    store.write_documents([Document(content="none")])
    retriever = LaminaRetriever(store)
    assert [d.content for d in retriever.run(query_embedding=[1.0, 0.2, 0.0])["documents"]] == [
        "x",
        "y",
        "none",
        "minus x",
    ]
    assert retriever.run("minus", top_k=1)["documents"][0].content == "minus x"


def test_stores_of_one_vault_keep_apart(store: LaminaDocumentStore, tmp_path: Path) -> None:
    with lamina.open(tmp_path / "other", create=True) as vault:
        one, other = LaminaDocumentStore(vault, collection="one"), LaminaDocumentStore(vault, collection="other")
        one.write_documents([Document(content="PostgreSQL")])
        assert (one.count_documents(), other.count_documents()) == (1, 0)
        assert other.search("PostgreSQL") == []
    with pytest.raises(lamina.InvalidArgument, match="LaminaDocumentStore"):
        LaminaRetriever("store")  # type: ignore[arg-type]


def test_hostile_documents_cost_nothing_but_themselves(tmp_path: Path) -> None:
    store = LaminaDocumentStore(tmp_path / "v")

    def act(text: str, name: str, metadata: dict[str, Any]) -> None:
        store.write_documents([Document(id=name, content=text, meta=metadata)], DuplicatePolicy.OVERWRITE)
        store.filter_documents({"field": "meta.x", "operator": "==", "value": text})
        LaminaRetriever(store).run(query=text)
        store.delete_documents([name])

    survives(tmp_path, act)
