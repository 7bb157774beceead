from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct

from lamina_engine import json_lines
from lamina_engine.errors import InvalidArgument
from lamina_engine.json_lines import read_json_lines, read_tag, write_json_lines


class Thing(Struct, frozen=True, tag_field="record", tag="thing"):
    name: str


def read(path: Path) -> list[Thing]:
    return list(read_json_lines(path, Thing, what="a thing", instead="give things"))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    things = [Thing("a"), Thing("b\u2028c")]
    assert write_json_lines(tmp_path / "x", iter(things)) == 2
    assert read(tmp_path / "x") == things
    assert read_tag(tmp_path / "x") == "thing"


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b'\n \t\n{"record":"thing","name":"a"}\n{"record":"thing"}')
    with pytest.raises(InvalidArgument, match=r"x:4 is not a thing \(.*name.*\); give things"):
        read(path)


@pytest.mark.parametrize("line", [b"{", b'{"record":"thing","name":"\xff"}', b"[]", b'{"record":"other","name":"a"}'])
def test_a_bad_line_is_named(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "x").write_bytes(line)
    with pytest.raises(InvalidArgument, match="x:1 is not a thing"):
        read(tmp_path / "x")


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "_MAX_LINE_BYTES", 64)
    monkeypatch.setattr(json_lines, "_MAX_FIRST_BYTES", 64)
    (tmp_path / "x").write_bytes(b'{"record":"thing","name":"' + b"a" * 100)
    with pytest.raises(InvalidArgument, match="x:1 is not a thing"):
        read(tmp_path / "x")
    assert read_tag(tmp_path / "x") is None


@pytest.mark.parametrize("content", [None, b"", b"PAR1", b"[1]\n", b'{"record":3}\n'])
def test_other_files_have_no_tag(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "x").write_bytes(content)
    assert read_tag(tmp_path / "x") is None
