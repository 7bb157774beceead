from __future__ import annotations

import pickle
import random
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.embed import wordllama
from lamina_engine.embed.places import package_folder
from lamina_engine.embed.protocol import Embedder
from lamina_engine.embed.wordllama import WEIGHTS_SHA256, WordLlamaEmbedder
from lamina_engine.errors import EmbeddingError, InvalidArgument, MissingExtra
from tests.oracles.wordllama import embed_whole, embed_words

TEXTS = [
    "How do I rebase a git branch onto main?",
    "naïve café: ½ of the Ünïcödé – 東京 and emoji 🎉 stay",
    "  white\tspace\n\nof all\u00a0kinds  ",
    "a",
    "the <s>old</s> plan " * 40,
    "SELECT id FROM notes WHERE created_at > now() - interval '7 days';",
]


@cache
def shared() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


@pytest.fixture
def embedder() -> WordLlamaEmbedder:
    return shared()


@pytest.mark.parametrize("dim", [256, 128, 64])
def test_equals_the_libraries(dim: int) -> None:
    embedder = WordLlamaEmbedder(dim)
    got = embedder.embed_documents(TEXTS)
    ref = np.stack([embed_words(text, dim) for text in TEXTS])
    assert got.dtype == np.float32
    assert got.shape == (len(TEXTS), dim) == (len(TEXTS), embedder.dim)
    # float64 sums on both sides; what is left is rounding to float32
    np.testing.assert_allclose(got, ref, atol=6e-8, rtol=0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="▁"), min_size=1), max_size=20))
def test_equals_whole_text_tokenisation_over_single_spaces(parts: list[str]) -> None:
    text = " ".join(" ".join(parts).split())
    got = shared().embed_query(text).astype(np.float64)
    ref = embed_whole(text)
    assert abs(got @ ref - (1.0 if text else 0.0)) <= 1e-6


def test_white_space_has_no_meaning(embedder: WordLlamaEmbedder) -> None:
    ref = embedder.embed_query("one two three")
    np.testing.assert_array_equal(embedder.embed_query("\n one\t two\r\n\nthree "), ref)
    assert embed_whole("one\n\ntwo three") @ ref < 1 - 1e-4  # where it differs from the package's own call


def test_texts_without_words_are_zero(embedder: WordLlamaEmbedder) -> None:
    for text in ("", " \t\n", "\u2003"):
        np.testing.assert_array_equal(embedder.embed_query(text), np.zeros(256, np.float32))
    got = embedder.embed_documents(["", "word", " "])
    assert np.linalg.norm(got, axis=1) == pytest.approx([0, 1, 0], abs=1e-6)


def test_sizes(embedder: WordLlamaEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, 256)
    for n in (1, 2):
        np.testing.assert_array_equal(embedder.embed_documents(TEXTS[:n]), [embedder.embed_query(t) for t in TEXTS[:n]])
    assert np.isfinite(embedder.embed_query("\ud800 \x00 half a pair")).all()


def test_every_path_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [" ".join(random.Random(i).choices(" ".join(TEXTS).split(), k=i)) for i in range(60)]
    ref = WordLlamaEmbedder().embed_documents(texts).tobytes()

    monkeypatch.setattr(wordllama, "_WIDEN_TOKENS", -1)
    assert WordLlamaEmbedder().embed_documents(texts).tobytes() == ref
    monkeypatch.setattr(wordllama, "_KERNEL_TOKENS", 0)
    assert WordLlamaEmbedder().embed_documents(texts).tobytes() == ref
    monkeypatch.setattr(wordllama, "_KERNEL_TOKENS", 10**9)
    monkeypatch.setattr(wordllama, "_LONG_TOKENS", 0)
    assert WordLlamaEmbedder().embed_documents(texts).tobytes() == ref
    assert WordLlamaEmbedder().embed_documents([]).shape == (0, 256)

    one_by_one = WordLlamaEmbedder()
    assert b"".join(one_by_one.embed_query(text).tobytes() for text in texts) == ref


def test_threads_give_the_same_bytes() -> None:
    embedder = WordLlamaEmbedder()
    texts = [f"note {i} about {i % 7} things and thing{i}" for i in range(300)]
    ref = WordLlamaEmbedder().embed_documents(texts).tobytes()
    got: list[bytes] = []
    threads = [threading.Thread(target=lambda: got.append(embedder.embed_documents(texts).tobytes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [ref] * 4


def test_a_close_pair_ranks_above_a_distant_one(embedder: WordLlamaEmbedder) -> None:
    query = embedder.embed_query("restore a deleted git branch")
    near, far = embedder.embed_documents(["recover a branch that was removed from git", "bake bread with rye flour"])
    assert query @ near > query @ far + 0.2


def test_what_it_says_of_itself(embedder: WordLlamaEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.identity == "wordllama-l2-supercat;d=256;weights=64b47a2dc493cb8e;norm=l2;pool=mean-word"
    assert WordLlamaEmbedder(64).identity.startswith("wordllama-l2-supercat;d=64;")
    assert embedder.max_tokens is None
    assert 0 < embedder.lane_weight <= 1
    copy = pickle.loads(pickle.dumps(WordLlamaEmbedder(128)))
    assert copy.identity == WordLlamaEmbedder(128).identity


def test_bad_arguments(embedder: WordLlamaEmbedder) -> None:
    with pytest.raises(InvalidArgument, match="256, 128 or 64"):
        WordLlamaEmbedder(100)
    with pytest.raises(InvalidArgument, match="embed_query"):
        embedder.embed_documents("one text")
    with pytest.raises(InvalidArgument, match="text 1"):
        embedder.embed_documents(["a", None])  # type: ignore[list-item]
    with pytest.raises(InvalidArgument, match="str"):
        embedder.embed_query(b"a")  # type: ignore[arg-type]


def test_weights_are_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = package_folder("wordllama")
    assert folder is not None
    weights = Path("weights") / "l2_supercat_256.safetensors"
    data = bytearray((folder / weights).read_bytes())
    (tmp_path / "weights").mkdir()
    (tmp_path / "tokenizers").symlink_to(folder / "tokenizers")
    monkeypatch.setattr(wordllama, "package_folder", lambda name: tmp_path)

    (tmp_path / weights).write_bytes(data)
    WordLlamaEmbedder(verify=True)
    data[-1] ^= 1
    (tmp_path / weights).write_bytes(data)
    damaged = WordLlamaEmbedder()
    for check in (
        damaged.verify,
        lambda: WordLlamaEmbedder(verify=True),
        lambda: damaged.embed_documents(["w"] * 9000),
    ):
        with pytest.raises(EmbeddingError, match=WEIGHTS_SHA256[:16]):
            check()
    (tmp_path / weights).write_bytes(data[:-2])
    with pytest.raises(EmbeddingError, match="install"):
        WordLlamaEmbedder()


def test_another_table_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    (tmp_path / "weights").mkdir()
    save_file(
        {"embedding.weight": np.zeros((3, 256), np.float16)}, tmp_path / "weights" / "l2_supercat_256.safetensors"
    )
    monkeypatch.setattr(wordllama, "package_folder", lambda name: tmp_path)
    with pytest.raises(EmbeddingError, match=r"\(3, 256\)"):
        WordLlamaEmbedder()


def test_a_missing_package_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama, "package_folder", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install --no-deps wordllama"):
        WordLlamaEmbedder()


def test_a_fresh_process_needs_neither_numba_nor_tokenizers() -> None:
    code = (
        "import sys\n"
        "from lamina_engine.embed.resolve import resolve\n"
        "resolve().embed_query('where are the keys')\n"
        "heavy = {'numba', 'tokenizers', 'safetensors', 'wordllama', 'httpx', 'onnxruntime', 'importlib.metadata'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
