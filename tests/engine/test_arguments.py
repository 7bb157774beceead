from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lamina_engine.arguments import flag_of, ids_of, numbers_of, path_of, paths_of, text_of, whole_of
from lamina_engine.errors import InvalidArgument, describe_value, name_cause, name_type


def test_ids() -> None:
    assert ids_of(["a", "b"]) == ids_of(("a", "b")) == ids_of(dict.fromkeys("ab")) == ["a", "b"]
    assert ids_of([]) == []
    assert ids_of("ab", alone=True) == ["ab"]
    for wrong in ("ab", 5, None, [5], [""], [None]):
        with pytest.raises(InvalidArgument, match=r"^ids"):
            ids_of(wrong)


def test_paths() -> None:
    assert path_of("a/b") == path_of(Path("a/b")) == Path("a/b")
    assert paths_of("a") == paths_of(b"a") == paths_of([Path("a")]) == ["a"]
    assert paths_of(["a", b"\xff"]) == ["a", "\udcff"]
    for wrong in (5, None, [5]):
        with pytest.raises(InvalidArgument, match=r"^path"):
            paths_of(wrong)
        with pytest.raises(InvalidArgument, match=r"^path"):
            path_of(wrong)


def test_flags() -> None:
    assert flag_of(True, "deep") is True
    for wrong in (1, None, "no"):
        with pytest.raises(InvalidArgument, match="deep"):
            flag_of(wrong, "deep")


def test_types_and_causes_in_messages() -> None:
    assert (name_type(5), name_type("x"), name_type(None)) == ("an int", "a str", "None")
    assert describe_value("limit", "x") == "limit='x' is a str"
    assert describe_value("ids", None) == "ids is None"
    with pytest.raises(IsADirectoryError) as raised:
        Path().read_bytes()
    assert name_cause(raised.value) == "Is a directory"
    assert name_cause(EOFError("torn")) == "torn"


def test_whole_numbers() -> None:
    assert numbers_of([1, np.int64(2)], "ids", "a fact") == [1, 2]
    assert type(whole_of(np.int32(5), "k")) is int
    assert whole_of(0, "offset", 0) == 0
    for wrong in (0, 11, True, np.True_, 2.0, "3", None, [3], np.array([3, 4])):
        with pytest.raises(InvalidArgument, match=r"must be a whole number of hits from 1 to 10, or"):
            whole_of(wrong, "k", 1, 10, of=" of hits", instead=", or None")
    for wrong in (-1, True, np.True_, 2.0, "3", None, [3], np.array([3, 4])):
        with pytest.raises(InvalidArgument, match=r"no number of a fact"):
            numbers_of([wrong], "ids", "a fact")


def test_texts_say_something_that_utf8_can_hold() -> None:
    assert (text_of(None, "project"), text_of("api", "project")) == (None, "api")
    for wrong in (5, "", " ", "a\ud83d"):
        with pytest.raises(InvalidArgument, match=r"^project"):
            text_of(wrong, "project")


def test_no_path_has_half_a_surrogate_pair() -> None:
    for call in (path_of, paths_of):
        with pytest.raises(InvalidArgument, match="is no file name in utf-8"):
            call("notes\ud83d")
