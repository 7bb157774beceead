"""Words that are not separated by spaces, and names in code, are found by their parts."""

from __future__ import annotations

import pytest

from lamina import Vault

RUN = "数据库迁移计划已经完成测试环境正常运行"


@pytest.fixture
def stocked(lexical_vault: Vault) -> Vault:
    lexical_vault.add(
        [
            {"id": "cjk", "text": f"会议记录。{RUN}。"},
            {"id": "kana", "text": "東京都でデータベースを移行しました。"},
            {"id": "hangul", "text": "서울에서데이터베이스를옮겼습니다."},
            {"id": "glued", "text": "请调用parse_config函数再重启服务器"},
            {"id": "snake", "text": "the function foo_bar is slow"},
            {"id": "camel", "text": "the method fooBar is slow"},
            {"id": "path", "text": "see src/foo/bar.py for it"},
            {"id": "noise", "text": "lunch was good and the weather fine"},
            {"id": "noise-cjk", "text": "今天天气很好我们去公园散步"},
        ]
    )
    return lexical_vault


@pytest.mark.parametrize("start", range(0, len(RUN) - 1, 2))
def test_two_characters_find_a_longer_run(start: int, stocked: Vault) -> None:
    assert stocked.recall(RUN[start : start + 2], k=1)[0].id == "cjk"


@pytest.mark.parametrize(
    ("query", "ref"), [("東京", "kana"), ("移行", "kana"), ("데이터", "hangul"), ("公园", "noise-cjk")]
)
def test_other_scripts(query: str, ref: str, stocked: Vault) -> None:
    assert stocked.recall(query, k=1)[0].id == ref


@pytest.mark.parametrize("query", ["parse_config", "parse config", "config", "重启"])
def test_a_name_glued_to_other_characters(query: str, stocked: Vault) -> None:
    assert stocked.recall(query, k=1)[0].id == "glued"


def test_parts_find_the_names_made_of_them(stocked: Vault) -> None:
    assert {hit.id for hit in stocked.recall("foo bar")} == {"snake", "camel", "path"}
    assert stocked.recall("foo_bar", k=1)[0].id == "snake"
    assert stocked.recall("fooBar", k=1)[0].id == "camel"
    assert stocked.recall("src/foo/bar.py", k=1)[0].id == "path"
    assert {hit.id for hit in stocked.recall("bar.py")} >= {"path"}


def test_what_nobody_wrote_finds_nothing(stocked: Vault) -> None:
    assert list(stocked.recall("zzyzx")) == []
    assert list(stocked.recall("")) == []
