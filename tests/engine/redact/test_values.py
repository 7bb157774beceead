""""""

from __future__ import annotations

import pytest

from lamina_engine.redact.assignments import key_class
from lamina_engine.redact.values import Form, KeyClass, is_placeholder, is_random, is_reference, looks_secret


@pytest.mark.parametrize(
    ("value", "quoted", "line", "inline"),
    [
        ("hunter2", True, True, True),
        ("letmein", True, False, False),
        ("Passwort", False, False, False),
        ("12345678", True, True, False),
        ("1234", True, False, False),
        ("correct-horse-battery-staple", True, True, False),
        ("pa$$word!", True, True, True),
        ("abc", False, False, False),
        ("sha256", False, False, False),
        ("required", False, False, False),
        ("get_password()", True, False, False),
    ],
)
def test_a_password_counts_by_how_it_stands(value: str, quoted: bool, line: bool, inline: bool) -> None:
    got = [looks_secret(KeyClass.PASSWORD, value, form) for form in (Form.QUOTED, Form.LINE, Form.INLINE)]
    assert got == [quoted, line, inline]


@pytest.mark.parametrize(
    ("value", "ref"),
    [
        ("x1Y2z3A4b5C6", True),
        ("9f86d081884c7d65", True),
        ("550e8400-e29b-41d4-a716-446655440000", True),
        ("EgIuAAqLquXfUIvLzQUCf801", True),
        ("keep-it-simple-2024", False),
        ("utf8_decode3", False),
        ("SomeVeryLongClassNameForTokens", False),
        ("2024-01-02T03:04:05Z", False),
        ("v1.2.3-rc.4", False),
        ("1713564000", False),
        ("short1", False),
        ("application/x-www-form-urlencoded2", False),
    ],
)
def test_random_or_words(value: str, ref: bool) -> None:
    assert is_random(value) is ref
    assert looks_secret(KeyClass.TOKEN, value, Form.INLINE) is ref


def test_placeholders_and_references() -> None:
    for value in ("your_api_key_here", "<token>", "xxxx", "********", "changeme", "none", "my_password", "PASSWORD"):
        assert is_placeholder(value) or is_reference(value), value
    for value in ("${X}", "$TOKEN", "{{ x }}", "op://a/b", "/run/secrets/x", "os.environ['X']", "arn:aws:x"):
        assert is_reference(value), value
    for value in ("hunter2", "EXAMPLEKEYwJalr7", "p@ss/w0rd", "$ecret!23"):
        assert not is_placeholder(value), value
        assert not is_reference(value), value
    assert is_reference("config.api_key", Form.LINE)


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("password", KeyClass.PASSWORD),
        ("dbPassword", KeyClass.PASSWORD),
        ("DB_PASS", KeyClass.PASSWORD),
        ("passwords", KeyClass.PASSWORD),
        ("password_2", KeyClass.PASSWORD),
        ("API Key", KeyClass.KEY),
        ("X-Api-Key", KeyClass.KEY),
        ("aws_secret_access_key", KeyClass.SECRET),
        ("refreshToken", KeyClass.TOKEN),
        ("password_hash", None),
        ("token_type", None),
        ("page_token", None),
        ("pad_token", None),
        ("secretName", None),
        ("max_tokens", None),
        ("compass", None),
        ("sort_key", None),
        ("title", None),
        ("password" * 20, None),
    ],
)
def test_class_of_a_field_name(name: str, ref: KeyClass | None) -> None:
    assert key_class(name) is ref
