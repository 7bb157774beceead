"""Tokens: never fewer than real tokenizers count; findings, seeds-b gap 5."""

from __future__ import annotations

import base64
import json
import random
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.context import tokens
from lamina_engine.context.tokens import RANKS, count_tokens
from lamina_engine.embed.bundled import tokenizer_path

KNOWN = {  # as OpenAI's guide to counting tokens gives them for cl100k_base
    "antidisestablishmentarianism": 6, "2 + 2 = 4": 7, "お誕生日おめでとう": 9, "tiktoken is great!": 6,
}  # fmt: skip
PIECES = [
    "\n", "\t", "\r\n", " ", "   ", "a", "the", "don't", "DON'T", "'ſ", "²", "½", "٣", "数据", "日本", "é", "é", "\u00a0", "\u2028",
    "\x1c", "\x85", "😀", "👨‍👩‍👧", "<|endoftext|>", "</memory>", "&lt;", "&amp;", "0x3f", "1234567", "__init__", "foo.bar(", "});", "ß",
    "Привет", "العربية", "हिन्दी", "ไทย", "한국어", "ẞ", "İ", "K", "\u200b", "▁", "▁▁", "<s>", "</s>", "\x00", "https://x.y/z?q=1", "deadbeef",
]  # fmt: skip


@pytest.fixture(scope="module")
def cl100k() -> Callable[[str], int]:
    openai = pytest.importorskip("bpe_openai", reason="bpe-openai, of the extra test, brings the table of cl100k_base")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it opens its own table the old way
        encoding = openai.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode_ordinary(text))


@pytest.fixture(scope="module")
def bundled() -> Callable[[str], int]:
    library = pytest.importorskip("tokenizers", reason="the tokenizers library, of the extra test, is the oracle")
    tokenizer = library.Tokenizer.from_file(str(tokenizer_path()))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda text: len(tokenizer.encode(text).ids)


SIZES = [600, pytest.param(2_000, marks=pytest.mark.slow)]
"""Texts and blocks that are tried."""


def test_the_oracle_counts_what_is_known(cl100k: Callable[[str], int]) -> None:
    assert {text: cl100k(text) for text in KNOWN} == KNOWN


def test_the_table_is_the_beginning_of_the_published_one(cl100k: Callable[[str], int]) -> None:
    import bpe_openai

    encoding = bpe_openai.get_encoding("cl100k_base")
    known = tokens._read_tokens(zlib.decompress(tokens._TABLE.read_bytes()))
    assert len(known) == RANKS
    assert known == [encoding.decode_single_token_bytes(rank) for rank in range(RANKS)]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=30).map("".join))
def _is_never_under(counts: tuple[Callable[[str], int], ...], text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert count_tokens(text) >= max(count(text) for count in counts) - (not text)


@pytest.mark.parametrize("n", SIZES, ids=["short", "long"])
def test_no_text_has_more_tokens_than_are_counted(
    cl100k: Callable[[str], int], bundled: Callable[[str], int], n: int
) -> None:
    settings(max_examples=n, deadline=None)(_is_never_under)((cl100k, bundled))


def texts() -> dict[str, list[str]]:
    """Return texts by kind: what is tried, and the kinds whose over-count is held."""
    draw = random.Random(1)
    root = Path(__file__).parents[3]
    prose = [path.read_text("utf-8") for path in sorted((root / "engine" / "decisions").glob("*.md"))]
    code = [path.read_text("utf-8") for path in sorted((root / "engine" / "lamina_engine" / "recall").glob("*.py"))]
    addresses = [
        f"https://example.com/{draw.randint(1, 9999)}?id={draw.getrandbits(128):x}&t="
        f"{base64.urlsafe_b64encode(draw.randbytes(30)).decode()}"
        for _ in range(300)
    ]
    cjk = [
        "今日は良い天気ですね。明日の会議は午後三時からです。",
        "数据库连接池在午夜重启之后耗尽，原因是超时设置过长。",
        "배포 후에 캐시를 비워야 합니다.",
    ]
    return {"prose": prose, "code": code, "addresses": addresses, "cjk": cjk}


@pytest.mark.parametrize(("kind", "most"), [("prose", 1.30), ("code", 1.40), ("addresses", 1.45), ("cjk", 1.80)])
def test_the_count_is_near_enough_to_be_of_use(
    kind: str, most: float, cl100k: Callable[[str], int], bundled: Callable[[str], int]
) -> None:
    """What is more than cl100k counts is nearly all the other tokenizer's."""
    some = texts()[kind]
    ours, theirs = sum(map(count_tokens, some)), sum(map(cl100k, some))
    assert theirs <= ours <= most * theirs
    if kind != "cjk":
        assert ours <= 1.01 * sum(max(cl100k(text), bundled(text)) for text in some)


def test_markers_are_plain_text_and_nothing_is_nothing() -> None:
    assert count_tokens("") == 0
    assert count_tokens("<|endoftext|>") > 4
    assert count_tokens("a\ud800b") >= 3  # no tokenizer takes it; no error either


def test_a_long_word_is_counted_in_time(bundled: Callable[[str], int]) -> None:
    assert count_tokens("a" * 50_000) >= bundled("a" * 50_000)


def any_record(draw: random.Random) -> dict[str, Any]:
    text = "".join(draw.choice(PIECES) + draw.choice(["", " "]) for _ in range(draw.randint(1, 300)))
    return {
        "text": f"{text}.", "type": draw.choice(["note", "decision", "agent_task", "handoff", "agent_insight", "github_issue"]),
        "title": draw.choice(["", "数据 <b>", "A & B"]) or None, "created_at": "2026-02-20", "metadata": {"opened_at": "2026-02-21"},
    }  # fmt: skip


@pytest.mark.parametrize("n", SIZES, ids=["short", "long"])
def test_no_block_exceeds_its_budget_by_either_tokenizer(
    tmp_path: Path, cl100k: Callable[[str], int], bundled: Callable[[str], int], n: int
) -> None:
    """Rendered as agents get them: blocks of hostile and foreign text."""
    from lamina_engine.context.budget import BlockFill
    from lamina_engine.context.rendering import Item

    draw = random.Random(2)
    for _ in range(n):
        records = [any_record(draw) for _ in range(draw.randint(1, 6))]
        items = [
            Item("search", str(n), each["text"], each["type"], "notes", "a.md", "2026-02-20", "9 days", "fresh", title=each["title"] or "")
            for n, each in enumerate(records)
        ]  # fmt: skip
        most = draw.randint(60, 1_500)
        fill = BlockFill("turn", most)
        (fill.take_cut if draw.random() < 0.5 else fill.take)(items, most)
        text, counted = fill.finish(["search"])
        assert json.dumps(text)
        assert max(cl100k(text), bundled(text) if text else 0) <= counted <= most
