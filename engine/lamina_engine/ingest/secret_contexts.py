"""Secrets told by what surrounds them: key blocks, URLs, headers and command lines.

Each function is called where a search literal of its row was found, and returns the spans to mask. What can run far
(key blocks) is bounded, so that a text made of nothing but openings costs time linear in it.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from typing import NamedTuple

from lamina_engine.ingest.secret_values import MASK, Form, is_placeholder, is_random, is_reference

Span = tuple[int, int, str]

NEEDED_WITHIN = 400  # characters
_BLOCK_MAX = 1 << 16  # characters; the longest private keys in use take 13,000
_ORPHAN_MAX = 1 << 13

_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_LINE = re.compile(
    r"(?:\\+[nr]|[\s>|#*\"'+,;])*+(?:[A-Za-z0-9+/=_-]{16,8192}+|[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,120}+)"
)
_KEY_RUN = re.compile(r"[A-Za-z0-9+/=_-]{16}")
_LAST_LINE = re.compile(r"(?:\\+[nr]|[\s>|#*\"'+,;])++[A-Za-z/+]*+[0-9+/=][A-Za-z0-9+/=]*+")
_BODY_LINE = re.compile(r"[\s>|#\"']*+[A-Za-z0-9+/=]{2,}+[ \t\r\"',+]*+(?:\n|\\n)")
_PUTTY = re.compile(r"Private-Lines: \d{1,3}\s{1,4}((?:[A-Za-z0-9+/=]{2,80}+(?:\\n|\s|\Z)){1,60}+)")

_URL = re.compile(r"://([^\s\"'`<>\\]{1,400})")
_PORT = re.compile(r"\d{1,5}(?:\Z|[^A-Za-z0-9])")
_HOST = re.compile(r"@(?:[\w.-]+|\[[0-9a-fA-F:.]+\])")

_HEADER = re.compile(
    r"authorization(?:\\{0,3}[\"'`])?\]?\s{0,4}(?:=>|[:=,])\s{0,4}(?:[bfru]{0,2}\\{0,3}[\"'`])?"
    r"(?:(bearer|basic|token|digest|apikey|api-key|bot|key|oauth|jwt|ssws|splunk|genie-?key)(?:\s{1,4}|%20))?"
    r"([^\s\"'`\\,;<>]{6,4000})",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"[a-z_]{2,20}=(?!=*\Z)|realm=")
_BEARER = re.compile(r"bearer(?:[ \t:=]{1,4}|%20)([A-Za-z0-9._~+/=:|-]{16,4000})", re.IGNORECASE)
_BASIC = re.compile(r"basic[ \t]{1,4}([A-Za-z0-9+/]{8,400}={0,2})(?![A-Za-z0-9])", re.IGNORECASE)
_USER = re.compile(
    r"(?: -u|--(?:proxy-)?user)[ =]?(\\{0,3}[\"'])?([^\s:\"'\\]{0,80}):((?(1)[^\"'\\\n]|[^\s\"'\\]){3,200})"
)
_CLIENT = re.compile(r"\b(?:curl|wget|https?|xh|httpie)[ \t]")
_MYSQL = re.compile(r"(?:mysql|mariadb|mysqldump|mysqladmin)\b[^\n|;]{0,120}?\s-p([\"']?)([^\s\"'-][^\s\"']{3,100})")
_SSHPASS = re.compile(r"sshpass\s{1,4}-p\s{0,4}([\"']?)([^\s\"']{3,100})")
_LOGIN = re.compile(r"login\b[^\n|;]{0,160}?\s-p(?:\s{1,4}|=)([\"']?)([^\s\"'-][^\s\"']{5,200})")
_REDIS = re.compile(r"redis-cli\b[^\n|;]{0,120}?\s-a\s{1,4}([\"']?)([^\s\"'-][^\s\"']{3,100})")
_IDENTIFIED = re.compile(
    r"identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by\s{1,4}(?:password\s{1,4})?(['\"])([^'\"\n]{3,200})\1",
    re.IGNORECASE,
)
_DSN = re.compile(r"@(?:tcp|unix)\(")
_DSN_USER = re.compile(r"(?<![\w.-])[\w.-]{1,64}:([^\s:@/\"'`]{3,128})\Z")
_ENCODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,16384}={0,2}")
_AWS_ID = re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{16}")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+_-])(?=[a-zA-Z/+]{0,39}[0-9])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")


def _hidden(value: str) -> bool:
    """Whether what stands in the place of a secret is none: a mask, a reference, a placeholder."""
    rest = MASK.sub("", value)
    return not rest or is_reference(rest, Form.QUOTED) or is_placeholder(rest)


def key_block(text: str, at: int) -> list[Span]:
    """A private key from its BEGIN line to its END line, or to the last line of base64 where the END is missing."""
    begin = _BEGIN.match(text, at)
    if begin is None:
        return []
    limit = min(len(text), begin.end() + _BLOCK_MAX)
    following = text.find("BEGIN ", begin.end(), limit)
    end = _END.search(text, begin.end(), limit if following < 0 else following)
    if end:
        # the two lines alone, as constants of a program, are no key
        body = _KEY_RUN.search(text, begin.end(), end.start())
        return [(begin.start(), end.end(), "private-key")] if body else []
    stop = begin.end()
    while stop < limit and (line := _KEY_LINE.match(text, stop, limit)):
        stop = line.end()
    if stop == begin.end():
        return []
    last = _LAST_LINE.match(text, stop, min(stop + 80, limit))
    return [(begin.start(), last.end() if last else stop, "private-key")]


def key_block_end(text: str, at: int) -> list[Span]:
    """The rest of a private key whose BEGIN line is not in the text: base64 lines and the END line."""
    end = _END.match(text, at)
    if end is None:
        return []
    start, low = at, max(0, at - _ORPHAN_MAX)
    while start > low:  # up line by line; a line ends in a newline or, inside a string, in its escape
        newline, escape = text.rfind("\n", low, start - 1), text.rfind("\\n", low, start - 2)
        head = max(newline + 1, escape + 2 if escape >= 0 else low, low)
        if not _BODY_LINE.fullmatch(text, head, start):
            break
        start = head
    return [(start, end.end(), "private-key")] if start < at else []


def encoded_key(text: str, at: int) -> list[Span]:
    """A PEM block in base64, as Kubernetes files carry them; certificates and public keys stay."""
    match = _ENCODED.match(text, at)
    if match is None or b"PRIVATE KEY" not in b64decode(match[0][:96]):
        return []
    return [(*match.span(), "private-key")]


def putty_key(text: str, at: int) -> list[Span]:
    """The private half of a PuTTY key file."""
    match = _PUTTY.match(text, at)
    return [(*match.span(1), "private-key")] if match else []


def url_credentials(text: str, at: int) -> list[Span]:
    """The password of ``scheme://user:password@host``, or a user name that is a token; host and user stay."""
    if text.find("@", at, at + NEEDED_WITHIN) < 0:  # most addresses name no user; this is their whole cost
        return []
    match = _URL.match(text, at)
    if match is None or "@" not in match[1]:
        return []
    run = match[1].split("](", 1)[0]
    authority = re.split(r"[/?#]", run, maxsplit=1)[0]
    if "@" in authority:
        credentials = authority[: authority.rindex("@")]
    else:
        # a slash inside the password: only where what looks like a port is none, and a host follows the last @
        _, colon, port = authority.partition(":")
        last = run.rfind("@")
        if not colon or _PORT.match(port) or last < 0 or not _HOST.match(run, last):
            return []
        credentials = run[:last]
    user, colon, password = credentials.partition(":")
    start = match.start(1)
    spans: list[Span] = []
    if colon and len(password) >= 3 and password[0] not in "[]" and not _hidden(password):
        spans.append((start + len(user) + 1, start + len(credentials), "url-password"))
    if len(user) >= 20 and text[at - 1] in "ps" and is_random(user) and not _hidden(user):
        spans.append((start, start + len(user), "url-token"))
    return spans


def authorization(text: str, at: int) -> list[Span]:
    """The credentials of an Authorization header, in a header, a mapping or a call."""
    match = _HEADER.match(text, at)
    if match is None or _PARAMETER.match(match[2]) or _hidden(match[2]):
        return []
    scheme, value = (match[1] or "").lower(), match[2].rstrip(")]}.")
    strict = scheme == "" and not is_random(value)
    words = value.isalpha() and (value.islower() or value.isupper() or value.istitle())
    if (
        strict
        or (words and scheme != "basic")
        or (scheme == "basic" and len(value) < 8)
        or is_reference(value, Form.INLINE)
    ):
        return []
    return [(match.start(2), match.start(2) + len(value), "authorization")]


def bearer(text: str, at: int) -> list[Span]:
    """``Bearer`` and a token that looks random, wherever it stands."""
    match = _BEARER.match(text, at)
    if match is None or _hidden(match[1]):
        return []
    value = match[1].rstrip(".:|")
    return [(match.start(1), match.start(1) + len(value), "bearer-token")] if is_random(value) else []


def basic(text: str, at: int) -> list[Span]:
    """``Basic`` and base64 that decodes to ``user:password``."""
    match = _BASIC.match(text, at)
    if match is None or len(match[1]) % 4:
        return []
    try:
        plain = b64decode(match[1], validate=True).decode("ascii")
    except ValueError:
        return []
    return [(*match.span(1), "authorization")] if ":" in plain and plain.isprintable() else []


def user_option(text: str, at: int) -> list[Span]:
    """The password in ``curl -u user:password``."""
    match = _USER.match(text, at)
    if match is None or match[3].isdigit() or match[3].startswith("//") or _hidden(match[3]):
        return []
    # the same command, which may run over several lines
    return [(*match.span(3), "password")] if _CLIENT.search(text, max(0, at - 400), at + 2) else []


def _option(regex: re.Pattern[str]) -> Callable[[str, int], list[Span]]:
    def find(text: str, at: int) -> list[Span]:
        match = regex.match(text, at)
        return [(*match.span(2), "password")] if match and not _hidden(match[2]) else []

    return find


def driver_address(text: str, at: int) -> list[Span]:
    """The password in ``user:password@tcp(host)``, the address of Go's database drivers."""
    match = _DSN_USER.search(text, max(0, at - 200), at) if _DSN.match(text, at) else None
    return [(*match.span(1), "url-password")] if match and not _hidden(match[1]) else []


def aws_pair(text: str, at: int) -> list[Span]:
    """The secret access key that stands near its key id, as in an exported table."""
    if _AWS_ID.match(text, at) is None:
        return []
    low, high = max(0, at - 120), min(len(text), at + 160)
    for match in _AWS_SECRET.finditer(text, low, high):
        value = match[0]
        if value.lower() != value and value.upper() != value:
            return [(*match.span(), "aws-secret-key")]
    return []


class Context(NamedTuple):
    """A finder with the literals that call it."""

    literals: tuple[str, ...]
    back: int
    """Characters from the start of the match to the literal."""
    find: Callable[[str, int], list[Span]]
    needs: str = ""
    """A character that must stand within `NEEDED_WITHIN` characters from the start, for anything to be found."""
    regex: re.Pattern[str] | None = None
    """What must match at the start, for anything to be found."""


CONTEXTS = (
    Context(("-beg",), 4, key_block, regex=_BEGIN),
    Context(("-- b",), 2, key_block, regex=_BEGIN),
    Context(("-end",), 4, key_block_end, regex=_END),
    Context(("-- e",), 2, key_block_end, regex=_END),
    Context(("ls0t",), 0, encoded_key, regex=_ENCODED),
    Context(("te-l",), 5, putty_key, regex=_PUTTY),
    Context(tuple(f"{c}://" for c in "abcdefghijklmnopqrstuvwxyz0123456789"), -1, url_credentials, "@"),
    Context(("oriz",), 4, authorization, regex=_HEADER),
    Context(("bear",), 0, bearer, regex=_BEARER),
    Context(("basi",), 0, basic, regex=_BASIC),
    Context((" -u ", ' -u"', " -u'", "--us", "--pr"), 0, user_option, regex=_USER),
    Context(("mysq",), 0, _option(_MYSQL), regex=_MYSQL),
    Context(("iadb",), 3, _option(_MYSQL), regex=_MYSQL),
    Context(("sshp",), 0, _option(_SSHPASS), regex=_SSHPASS),
    Context(("is-c",), 3, _option(_REDIS), regex=_REDIS),
    Context(("logi",), 0, _option(_LOGIN), regex=_LOGIN),
    Context(("fied",), 6, _option(_IDENTIFIED), regex=_IDENTIFIED),
    Context(("@tcp", "@uni"), 0, driver_address, regex=_DSN),
    Context(("akia", "asia"), 0, aws_pair, regex=_AWS_ID),
)
"""All finders, in no particular order."""
