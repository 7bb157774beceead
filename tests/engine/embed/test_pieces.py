from __future__ import annotations

import random
import subprocess
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.embed import pieces
from lamina_engine.embed.pieces import Merges, Pieces, encode, load_merges
from lamina_engine.embed.places import CACHE_VARIABLE
from lamina_engine.errors import EmbeddingError
from tests.oracles.wordllama import folder, word_ids

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
        got = encode(word, merges)
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
    assert encode("\ud800", merges) == [29871, 3 + 0xED, 3 + 0xA0, 3 + 0x80]
    assert encode("", merges) == []


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
    held = Pieces(merges, limit=3)
    words = ["one", "two", "three", "four", "one", "x" * (pieces._LONGEST_KEPT_CHARS + 1)]
    for word in words * 2:
        assert np.frombuffer(held[word], "<u2").tolist() == encode(word, merges)
        assert len(held) <= 3
    assert words[-1] not in held


def test_threads_share_it(merges: Merges) -> None:
    held = Pieces(merges, limit=50)
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
