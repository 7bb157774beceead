"""LangChain's own conformance suites, and what they leave out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "langchain_core", reason="langchain-core is not installed; .ci/run tests each adapter in an environment of its own"
)
suites = pytest.importorskip("langchain_tests.integration_tests", reason="langchain-tests is not installed")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.embeddings import DeterministicFakeEmbedding  # noqa: E402
from langchain_core.vectorstores import VectorStore  # noqa: E402

import lamina  # noqa: E402
from lamina.adapters.langchain import LaminaRetriever, LaminaVectorStore  # noqa: E402
from tests.adapters.hostile import survives  # noqa: E402

NOTES = ["We moved to PostgreSQL 16.", "The pool of connections ran out.", "Lunch is at noon.", "Deploys wait for Tuesday.",
         "The nightly backup runs at two.", "Invoices are numbered by month."]  # fmt: skip


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[lamina.Vault]:
    with lamina.open(tmp_path / "notes", create=True) as opened:
        opened.add([{"text": text, "id": f"n{i}", "source": f"{i}.md"} for i, text in enumerate(NOTES)])
        yield opened


@pytest.fixture
def folder(vault: lamina.Vault, request: pytest.FixtureRequest) -> None:
    instance: Any = request.instance
    instance.path = str(vault.path)


@pytest.mark.usefixtures("folder")
class TestRetriever(suites.RetrieversIntegrationTests):  # type: ignore[name-defined,misc]
    path = ""

    @property
    def retriever_constructor(self) -> type[LaminaRetriever]:
        return LaminaRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"vault": self.path}

    @property
    def retriever_query_example(self) -> str:
        return "the nightly backup of PostgreSQL, deploys, lunch, invoices, the pool"


class TestVectorStore(suites.VectorStoreIntegrationTests):  # type: ignore[name-defined,misc]
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        return LaminaVectorStore(tmp_path / "v", self.get_embeddings())


class TestVectorStoreOfTheVaultsModel(suites.VectorStoreIntegrationTests):  # type: ignore[name-defined,misc]
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        return LaminaVectorStore(tmp_path / "v")


@pytest.fixture
def model() -> DeterministicFakeEmbedding:
    return DeterministicFakeEmbedding(size=8)


def test_a_filter_is_on_metadata(tmp_path: Path, model: DeterministicFakeEmbedding) -> None:
    store = LaminaVectorStore(tmp_path / "v", model)
    store.add_texts(
        ["a", "b", "c"], [{"source": "x", "year": 2024}, {"source": "y", "year": 2025}, {"deep": {"er": True}}]
    )
    found = store.similarity_search("a", 9, filter={"source": "x"})
    assert [document.page_content for document in found] == ["a"]
    assert found[0].metadata == {"source": "x", "year": 2024}
    assert [d.page_content for d in store.similarity_search("a", 9, filter={"year": {"gte": 2025}})] == ["b"]
    assert [d.page_content for d in store.similarity_search("a", 9, filter={"deep.er": True})] == ["c"]
    assert {
        d.page_content for d in store.similarity_search("a", 9, filter={"OR": [{"year": 2024}, {"year": 2025}]})
    } == {"a", "b"}
    assert store.similarity_search("a", 9, filter={"nobody has this": 1}) == []


def test_scores_are_cosines_and_fall(tmp_path: Path, model: DeterministicFakeEmbedding) -> None:
    store = LaminaVectorStore(tmp_path / "v", model)
    store.add_texts(NOTES)
    scores = [score for _, score in store.similarity_search_with_score(NOTES[2], 6)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1.0, abs=1e-5)
    assert scores[-1] < 0.0


def test_documents_far_from_one_another_are_preferred(tmp_path: Path, model: DeterministicFakeEmbedding) -> None:
    from langchain_core.vectorstores import InMemoryVectorStore

    store, reference = LaminaVectorStore(tmp_path / "v", model), InMemoryVectorStore(model)
    for each in (store, reference):
        each.add_texts([*NOTES, *(note + "!" for note in NOTES)])
    for query in NOTES:
        ours = store.max_marginal_relevance_search(query, 4, 9, 0.3)
        theirs = reference.max_marginal_relevance_search(query, 4, 9, 0.3)
        assert [d.page_content for d in ours] == [d.page_content for d in theirs]
    assert len(LaminaVectorStore(tmp_path / "own").max_marginal_relevance_search("x")) == 0


def test_a_store_is_still_there_after_it_was_closed(tmp_path: Path, model: DeterministicFakeEmbedding) -> None:
    with lamina.open(
        tmp_path / "v", create=True, embedder=lamina.CallableEmbedder(model.embed_documents, 8, "m")
    ) as vault:
        LaminaVectorStore.from_texts(["kept"], model, ids=["a"], vault=vault)
    again = LaminaVectorStore(tmp_path / "v", model)
    assert again.get_by_ids(["a"]) == [Document(id="a", page_content="kept")]
    again.delete(["a", "unknown"])
    assert again.get_by_ids(["a"]) == []
    again.add_texts(["one", "two"])
    again.delete()
    assert again.similarity_search("one") == []


def test_short_ids_are_no_ids_of_documents(tmp_path: Path, model: DeterministicFakeEmbedding) -> None:
    store = LaminaVectorStore(tmp_path / "v", model)
    (name,) = store.add_texts(["kept"])
    assert store.get_by_ids([name[:6], f"#{name[:6]}"]) == []
    store.delete([name[:6]])
    assert len(store.get_by_ids([name])) == 1


def test_two_stores_in_one_vault_do_not_see_one_another(vault: lamina.Vault) -> None:
    one, other = LaminaVectorStore(vault, collection="one"), LaminaVectorStore(vault, collection="other")
    one.add_texts(["about PostgreSQL"], ids=["x"])
    assert [d.id for d in one.similarity_search("PostgreSQL", 9)] == ["x"]
    assert other.similarity_search("PostgreSQL") == []
    other.delete(["x", "n0"])
    assert one.get_by_ids(["x"])
    assert vault.get("n0").status == "active"
    assert "x" in [hit.id for hit in vault.recall("PostgreSQL")], "recall finds them beside everything else"


@pytest.mark.parametrize("wrong", [{"metadatas": [{}]}, {"ids": ["a", "b", "c"]}])
def test_lists_of_other_lengths_are_refused(vault: lamina.Vault, wrong: dict[str, Any]) -> None:
    with pytest.raises(lamina.InvalidArgument, match="for 2 texts"):
        LaminaVectorStore(vault).add_texts(["a", "b"], **wrong)
    with pytest.raises(lamina.InvalidArgument, match="vault"):
        LaminaVectorStore.from_texts(["a"], DeterministicFakeEmbedding(size=8))
    with pytest.raises(lamina.InvalidArgument, match="filtre"):
        LaminaVectorStore(vault).similarity_search("a", filtre={})


def test_a_retriever_passes_on_the_arguments_of_a_recall(vault: lamina.Vault) -> None:
    retriever = LaminaRetriever(vault=vault, k=3, where={"source": "0.md"})
    (document,) = retriever.invoke("PostgreSQL")
    assert (document.id, document.page_content, document.metadata["source"]) == ("n0", NOTES[0], "0.md")
    assert asyncio.run(retriever.ainvoke("PostgreSQL")) == [document]
    as_store = LaminaVectorStore(vault, collection="notes").as_retriever(search_kwargs={"k": 2})
    assert len(as_store.invoke("PostgreSQL")) == 2


def test_hostile_documents_cost_nothing_but_themselves(tmp_path: Path) -> None:
    store = LaminaVectorStore(tmp_path / "v")

    def act(text: str, name: str, metadata: dict[str, Any]) -> None:
        store.add_texts([text], [metadata], ids=[name])
        store.similarity_search(text, 2, filter={"path": text})
        store.get_by_ids([name])
        LaminaRetriever(vault=str(tmp_path / "v")).invoke(text)
        store.delete([name])

    survives(tmp_path, act)
