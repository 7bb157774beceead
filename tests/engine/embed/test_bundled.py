""""""

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
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lamina_engine.embed import bundled
from lamina_engine.embed.bundled import (
    WEIGHTS_SHA256,
    BpeVocabulary,
    Merges,
    WordLlamaEmbedder,
    encode_word,
    load_merges,
)
from lamina_engine.embed.protocol import Embedder
from lamina_engine.embed.weights import CACHE_VARIABLE, package_folder
from lamina_engine.errors import EmbeddingError, InvalidArgument, MissingExtra
from lamina_kernels.bytepairs import join_word_pairs
from tests.oracles.wordllama import embed_whole, embed_words, folder, word_ids

TOKENIZER = folder() / "tokenizers" / "l2_supercat_tokenizer_config.json"
NOTES = Path(__file__).parents[4] / "shared" / "data" / "notes-vault" / "til.bundle"


@cache
def shared() -> Merges:
    return load_merges(TOKENIZER)


@pytest.fixture
def merges() -> Merges:
    return shared()


def check(words: list[str], merges: Merges) -> None:
    for word, ref in zip(words, word_ids(words), strict=True):
        got = encode_word(word, merges)
        assert got == ref, word


def test_words_of_real_notes(merges: Merges, tmp_path: Path) -> None:
    if not NOTES.exists():
        pytest.skip(f"no notes at {NOTES}")
    subprocess.run(["git", "clone", "-q", str(NOTES), str(tmp_path / "til")], check=True, capture_output=True)
    words = sorted({word for note in tmp_path.rglob("*.md") for word in note.read_text("utf-8").split()})
    assert len(words) > 30_000
    check(random.Random(0).sample(words, 3_000), merges)


def test_random_unicode(merges: Merges) -> None:
    rng = random.Random(0)
    planes = [(0x21, 0x7F), (0x80, 0x24F), (0x370, 0x5FF), (0x3040, 0x9FFF), (0x1F300, 0x1FAFF), (0x10000, 0x10FFFF)]
    words = ["".join(chr(rng.randint(*rng.choice(planes))) for _ in range(rng.randint(1, 12))) for _ in range(1_500)]
    check([word for word in words if word.split() == [word]], merges)


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    check(text.split(), shared())


def learnt(texts: list[str], merges: Merges, *, limit: int = 200_000) -> BpeVocabulary:
    vocabulary = BpeVocabulary(merges, limit=limit)
    join_word_pairs.warm()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundled, "_FEW_WORDS", 0)
        vocabulary.learn(texts)
    return vocabulary


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(), max_size=4), st.text(alphabet="aeinorst▁<>/unk ", max_size=60))
def test_many_words_at_once_are_encoded_as_each_alone(texts: list[str], more: str) -> None:
    vocabulary = learnt([*texts, more], shared())
    for word, ids in vocabulary.items():
        assert np.frombuffer(ids, "<u2").tolist() == encode_word(word, shared()), word
    assert {word for word in more.split() if word.isalpha()} <= set(vocabulary)


def test_words_of_real_notes_at_once(merges: Merges, tmp_path: Path) -> None:
    if not NOTES.exists():
        pytest.skip(f"no notes at {NOTES}")
    subprocess.run(["git", "clone", "-q", str(NOTES), str(tmp_path / "til")], check=True, capture_output=True)
    vocabulary = learnt([note.read_text("utf-8") for note in tmp_path.rglob("*.md")], merges)
    assert len(vocabulary) > 30_000
    words = random.Random(1).sample(sorted(vocabulary), 3_000)
    for word, ref in zip(words, word_ids(words), strict=True):
        assert np.frombuffer(vocabulary[word], "<u2").tolist() == ref, word


def test_a_few_words_enter_no_kernel(merges: Merges) -> None:
    join_word_pairs.warm()
    vocabulary = BpeVocabulary(merges)
    vocabulary.learn([" ".join(f"w{i}" for i in range(bundled._FEW_WORDS))])
    assert not vocabulary
    vocabulary.learn([" ".join(f"w{i}" for i in range(bundled._FEW_WORDS + 1))])
    assert len(vocabulary) == bundled._FEW_WORDS + 1


def test_what_is_learnt_at_once_has_a_bound(merges: Merges, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "_FEW_WORDS", 0)
    vocabulary = learnt(["one two three four " + "x" * 300], merges, limit=3)
    assert len(vocabulary) == 3
    vocabulary.learn(["five six"])
    assert {*vocabulary} == {"five", "six"}


def test_a_few_new_words_load_no_kernel(merges: Merges, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [False]

    def at_hand() -> bool:
        asked.append(True)
        return False

    monkeypatch.setattr(bundled, "is_ready", lambda _: False)
    monkeypatch.setattr(bundled, "_is_kernel_at_hand", at_hand)
    vocabulary = BpeVocabulary(merges)
    vocabulary.learn([" ".join(f"w{i}" for i in range(bundled._KERNEL_WORDS - 1))])
    assert not vocabulary
    assert not any(asked)
    vocabulary.learn([" ".join(f"w{i}" for i in range(bundled._KERNEL_WORDS))])
    assert not vocabulary
    assert any(asked)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="aeinorst▁<>/unk", max_size=40))
def test_letters_that_merge_and_control_tokens(text: str) -> None:
    check([text], shared())


@pytest.mark.parametrize(
    "word",
    [
        "a", "▁", "▁▁▁", "<s>", "</s>", "<unk>", "<s><s>", "a<s>b</s>c", "<s", "<<s>>", "<0x0A>", "~~<s>old</s>~~",
        "\x00", "\x7f", "é", "e\u0301", "\u200d", "\ufeff", "👩‍👩‍👧", "aaaaaaaaaaaaaaaa", "ﬁ", "🏳", "=" * 300,
    ],
)  # fmt: skip
def test_odd_words(word: str, merges: Merges) -> None:
    check([word], merges)


def test_a_long_blob_takes_no_quadratic_time(merges: Merges) -> None:
    rng = random.Random(1)
    blob = "".join(rng.choice("ABCDEFabcdef0123456789+/") for _ in range(100_000))
    check([blob], merges)


def test_lone_surrogates_are_bytes(merges: Merges) -> None:
    assert encode_word("\ud800", merges) == [29871, 3 + 0xED, 3 + 0xA0, 3 + 0x80]
    assert encode_word("", merges) == []


def test_cached_dictionaries_equal_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, merges: Merges) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    built = load_merges(TOKENIZER)
    (cached,) = tmp_path.iterdir()
    read = load_merges(tmp_path / "not needed any more")
    assert read == built == merges
    whole = cached.read_bytes()
    for damaged in (whole[:1000], whole[:-4] + b"\0\0\0\1", whole + b"\0\0\0\0"):
        cached.write_bytes(damaged)
        assert load_merges(TOKENIZER) == built
        assert cached.read_bytes() == whole  # repaired


def test_a_cache_that_cannot_be_written_costs_only_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, merges: Merges
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    assert load_merges(TOKENIZER) == merges


def test_another_tokenizer_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    (tmp_path / "other.json").write_text("{}")
    for name in ("other.json", "missing.json"):
        with pytest.raises(EmbeddingError, match="pip install"):
            load_merges(tmp_path / name)


def test_memory_is_bounded_and_never_shows(merges: Merges) -> None:
    held = BpeVocabulary(merges, limit=3)
    words = ["one", "two", "three", "four", "one", "x" * (bundled._LONGEST_KEPT_CHARS + 1)]
    for word in words * 2:
        assert np.frombuffer(held[word], "<u2").tolist() == encode_word(word, merges)
        assert len(held) <= 3
    assert words[-1] not in held


def test_threads_share_it(merges: Merges) -> None:
    held = BpeVocabulary(merges, limit=50)
    words = [f"w{i}" for i in range(200)]
    ref = [np.array(ids, "<u2").tobytes() for ids in word_ids(words)]
    wrong: list[str] = []

    def run(seed: int) -> None:
        wrong.extend(words[i] for i in random.Random(seed).choices(range(200), k=2_000) if held[words[i]] != ref[i])

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


TEXTS = [
    "How do I rebase a git branch onto main?",
    "naïve café: ½ of the Ünïcödé – 東京 and emoji 🎉 stay",
    "  white\tspace\n\nof all\u00a0kinds  ",
    "a",
    "the <s>old</s> plan " * 40,
    "SELECT id FROM notes WHERE created_at > now() - interval '7 days';",
]


@cache
def wordllama_shared() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


@pytest.fixture
def embedder() -> WordLlamaEmbedder:
    return wordllama_shared()


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
    assume(not bundled._SPECIAL.search(text))  # a space before a control token is a token there
    got = wordllama_shared().embed_query(text).astype(np.float64)
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

    monkeypatch.setattr(bundled, "_WIDEN_TOKENS", -1)
    assert WordLlamaEmbedder().embed_documents(texts).tobytes() == ref
    monkeypatch.setattr(bundled, "_KERNEL_TOKENS", 0)
    assert WordLlamaEmbedder().embed_documents(texts).tobytes() == ref
    monkeypatch.setattr(bundled, "_KERNEL_TOKENS", 10**9)
    monkeypatch.setattr(bundled, "_LONG_TOKENS", 0)
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
    monkeypatch.setattr(bundled, "package_folder", lambda name: tmp_path)

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
    monkeypatch.setattr(bundled, "package_folder", lambda name: tmp_path)
    with pytest.raises(EmbeddingError, match=r"\(3, 256\)"):
        WordLlamaEmbedder()


def test_a_missing_package_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "package_folder", lambda name: None)
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
