"""Secrets by context: key blocks, URLs, headers, commands, tables.

Each finder runs where a search literal of its row was found, and returns the spans to mask. What can run far (key
blocks) is bounded, so a text made of nothing but openings costs time linear in its length. `assignments` has the
finder of values that stand behind a name.
"""

from __future__ import annotations

import functools
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lamina_engine.redact.assignments import ACCOUNT, Span, key_class, trim_value
from lamina_engine.redact.values import MASK, Form, KeyClass, is_placeholder, is_random, is_reference, looks_secret

_URL_MAX = 400  # characters
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
_NO_HOST = re.compile(r"(?!localhost\Z)\w*")
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
_SECURE_STRING = r"(?i:to-securestring\s{1,4}(?:-string\s{1,4})?)([\"'])([^\"'\n$]{4,200})\1"
_GAP = r"(?:\\[nrt]|[\s\"'+\\]){1,80}"
"""Between words of a statement: also a line break, written as one or within a program's string."""
_NAME_OF_USER = r"(?:[`'\"][^`'\"\n]{0,80}[`'\"]|[\w$.%{}:-]{1,80}(?:\(\))?)"
_USER_AND_HOST = rf"{_GAP}{_NAME_OF_USER}(?:\s?@\s?{_NAME_OF_USER})?{_GAP}"
_IDENTIFIED = re.compile(
    rf"identified{_GAP}(?:(?:with|via){_GAP}\S{{1,40}}{_GAP})?by\s{{1,40}}(?:password\s{{1,40}})?"
    r"(\\{0,3}['\"])((?:''|(?!\1)[^\n]){3,200}?)\1(?!')",
    re.IGNORECASE,
)
_SQL_USER = re.compile(
    rf"(?:\b(?:create|alter|replace|set){_GAP}(?:user|role|login)(?:{_GAP}if(?:{_GAP}not)?{_GAP}exists)?"
    rf"|\bgrant\b[^;]{{1,400}}?\bon\b[^;]{{1,200}}?\bto|\bgrant{_GAP}(?:connect|resource|dba|usage|create{_GAP}session)\b[^;]{{0,200}}?\bto"
    rf"|\blink\b[^;]{{1,120}}?\bconnect{_GAP}to)"
    rf"(?:{_USER_AND_HOST}identified{_GAP}[^;]{{1,400}},)?{_USER_AND_HOST}\Z",
    re.IGNORECASE,
)
_ARGUMENT = (
    r"(?!(?:option|argument|flag|switch|parameter|with|without|from|instead|means|sets|asks|prompts)\b)"
    r"(\\{0,3}[\"'])?((?(1)[^\"'\n\\]|[^\s\"'\\<>|;-](?=[^\s\"'\\]))(?(1)[^\"'\n\\]|[^\s\"'\\]){3,200})"
)
"""Argument of a command: a bare word, or all between quotes; words of prose about the option are none."""
_SQLPLUS = r"(?i:sqlplus )(?:-\w{1,9} ){0,4}([\"']?)[\w.$]{1,40}/([^\s\"'@/\\]{4,80})"
_WIFI = r"(WIFI:)(?:[A-OQ-Z]\w{0,3}:(?:[^;\\\n]|\\.){0,64};){0,6}P:((?:[^;\\\s]|\\.){4,64});"
_ECHO = re.compile(
    r"(?:echo|printf)(?:[ \t]-[a-zA-Z]{1,3})?[ \t]{1,4}(?:[\"']%s(?:\\n)?[\"'][ \t]{1,4})?\\{0,3}[\"']?"
    r"(?P<value>(?:[\w.-]{1,64}:)?(?P<password>[^\"'|\n\\]{4,200}?))(?:\\{1,2}n)?\\{0,3}[\"']?[ \t]{0,4}\Z"
)
_READS_PASSWORD = re.compile(
    r"passw(?:or)?d(?:[ \t]-)?-stdin|sudo[ \t](?:-[a-zA-Z]{1,9}[ \t]){0,4}(?:-[a-zA-Z]{0,9}S|--stdin)|passphrase-fd[ =]0|chpasswd|kinit\b"
)
_CODE_PAIR = re.compile(
    r"(?:(?P<sure>auth[ \t]{0,2}=[ \t]{0,2}[\w.]{0,40}\(|(?:(?<=basic)|(?<=digest))auth\()"
    r"|(?<!\w)auth(?:[\"']?[ \t]{0,2}[=:][ \t]{0,2}[(\[]|\()|login\(|credentials\()"
    r"\s{0,40}[bru]?(?P<q1>\\{0,3}[\"'])(?!anonymous)[^\"'\n\\]{1,80}(?P=q1)"
    r"\s{0,4},\s{0,40}[bru]?(?P<q2>\\{0,3}[\"'])(?P<password>[^\"'\n\\]{4,200})(?P=q2)",
    re.IGNORECASE,
)
_DSN = re.compile(r"@(?:tcp|unix)\(")
_DSN_USER = re.compile(r"(?<![\w.-])[\w.-]{1,64}:([^\s:@/\"'`]{3,128})\Z")
_ENCODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,16384}={0,2}")
_CUT_LABELS = tuple(b" PRIVATE KEY"[:size] for size in range(4, 12))
_COOKIE = re.compile(r"(?:set-)?cookie[\"']?\s{0,3}[:=,]", re.IGNORECASE)
_COOKIE_PAIR = re.compile(
    r"[\w.-]{0,40}(?:sess|sid|auth|token|jwt|csrf|xsrf|login|remember|ticket)[\w.-]{0,40}=([\w%.+/:~-]{8,2000}=?)(?=[;\s\"'\\]|\Z)",
    re.IGNORECASE,
)
_AWS_ID = re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{16}")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+_-])(?=[a-zA-Z/+]{0,39}[0-9])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_LOGIN_PAIR = re.compile(
    r"(?:logins?|creds?|credentials?|zugangsdaten|anmeldedaten|logindaten|login-daten)"
    r"(?:[ \t](?:for|of|on|to|at|in|f\xfcrs?|fuer|zu|zum|zur|von|vom|im|am|auf)(?:[ \t][^\s:/|]{1,40}){1,3})?"
    r"(?P<sign>[ \t]?[:=]|[ \t](?:is|are|was|were|ist|sind|lautet|lauten)(?:[ \t](?:now|jetzt|nun))?:?)?"
    r"[ \t]{1,4}[\"'`]?(?P<user>[\w.@+-]{2,64})[\"'`]?(?:[ \t]{1,4}/[ \t]{1,4}|(?P<tight>[/:])[ \t]?)"
    r"[\"'`]?(?P<password>[^\s\"'`|/,;]{6,64}?)(?=[\"'`.,;)]{0,2}(?:\s|\Z))",
    re.IGNORECASE,
)
_PASS = re.compile(r"(?:pass|pwd)[ \t]{1,2}(?=[^\s\d]{0,64}\d)(?P<value>[^\s\"'`<>]{6,128})", re.IGNORECASE)
_CHANGED = re.compile(
    r"passw(?:or[dt]|d)(?:[ \t](?:for|of|on)(?:[ \t][^\s.:;!?]{1,30}){1,3})?[ \t]{1,4}(?:was[ \t]changed[ \t])?from"
    r"[ \t]{1,4}[\"'`]?([^\s\"'`]{6,64}?)[\"'`]?[ \t]{1,4}to[ \t]{1,4}[\"'`]?([^\s\"'`]{6,64}?)(?=[\"'`.,;)]{0,2}(?:\s|\Z))",
    re.IGNORECASE,
)
_TABLE_RULE = re.compile(r"\|[ \t]?:?-{2,}[-:| \t]*(?:\r?\n|\Z)")
_TABLE_ROW = re.compile(r"(\|[^\n]{1,2000})(?:\n|\Z)")
_ROW_MAX = 2_000
_COOKIE_VALUE = re.compile(r"(?<=[\w.-])=[\w%.+/:~-]{8}")
"""What every pair has: looked for first, as the pair's own expression tries each word of a text."""


def _hidden(value: str) -> bool:
    """Return whether the secret is already hidden: a mask, a reference, a placeholder."""
    rest = MASK.sub("", value)
    return not rest or is_reference(rest, Form.QUOTED) or is_placeholder(rest)


def key_block(text: str, at: int) -> list[Span]:
    """Find a private key from BEGIN to END, or to its last line of base64 where END is missing."""
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
    """Find the rest of a private key whose BEGIN line is missing: base64 lines and the END line."""
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
    """Find a PEM private key in base64, as in Kubernetes files; public halves stay."""
    match = _ENCODED.match(text, at)
    if match is None:
        return []
    head = match[0][:96].rstrip("=")
    head = head[: len(head) // 4 * 4]  # text that was cut off may end inside a group of four
    label = b64decode(head)
    is_private = b"PRIVATE KEY" in label or label.endswith(_CUT_LABELS)  # a key that was cut off is a key
    return [(*match.span(), "private-key")] if is_private else []


def putty_key(text: str, at: int) -> list[Span]:
    """Find the private half of a PuTTY key file."""
    match = _PUTTY.match(text, at)
    return [(*match.span(1), "private-key")] if match else []


def url_credentials(text: str, at: int) -> list[Span]:
    """Find the password of ``scheme://user:password@host``, or a user name that is a token."""
    if text.find("@", at, at + _URL_MAX) < 0:  # most addresses name no user; this is their whole cost
        return []
    match = _URL.match(text, at)
    if match is None or "@" not in match[1]:
        return []
    run = match[1].split("](", 1)[0]
    authority = re.split(r"[/?#]", run, maxsplit=1)[0]
    if "@" in authority:
        credentials, _, host = authority.rpartition("@")
        last = run.rfind("@")
        # an at sign and a slash inside the password: what stands between them is no host
        if last > len(authority) and ":" in credentials and _NO_HOST.fullmatch(host) and _HOST.match(run, last):
            credentials = run[:last]
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
    """Find the credentials of an Authorization header, in a header, a mapping or a call."""
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
    """Find a random-looking token after ``Bearer``."""
    match = _BEARER.match(text, at)
    if match is None or _hidden(match[1]):
        return []
    value = match[1].rstrip(".:|")
    return [(match.start(1), match.start(1) + len(value), "bearer-token")] if is_random(value) else []


def basic(text: str, at: int) -> list[Span]:
    """Find base64 after ``Basic`` that decodes to ``user:password``."""
    match = _BASIC.match(text, at)
    if match is None or len(match[1]) % 4:
        return []
    try:
        plain = b64decode(match[1], validate=True).decode("ascii")
    except ValueError:
        return []
    return [(*match.span(1), "authorization")] if ":" in plain and plain.isprintable() else []


def user_option(text: str, at: int) -> list[Span]:
    """Find the password in ``curl -u user:password``."""
    match = _USER.match(text, at)
    if match is None or match[3].isdigit() or match[3].startswith("//") or _hidden(match[3]):
        return []
    # the same command, which may run over several lines
    return [(*match.span(3), "password")] if _CLIENT.search(text, max(0, at - 400), at + 2) else []


def _option(pattern: str) -> Callable[[str, int], list[Span]]:
    # compiled where its command first stands; most processes never meet it
    regex = functools.cache(functools.partial(re.compile, pattern))

    def find(text: str, at: int) -> list[Span]:
        match = regex().match(text, at)
        return [(*match.span(2), "password")] if match and not _hidden(match[2]) else []

    return find


def sql_password(text: str, at: int) -> list[Span]:
    """Find the password of ``CREATE USER ada IDENTIFIED BY '…'``.

    Prose says "identified by" too, but not in capitals, nor behind the name of a user in a statement.
    """
    match = _IDENTIFIED.match(text, at)
    if match is None or _hidden(match[2]):
        return []
    if not text.startswith("IDENTIFIED", at) and _SQL_USER.search(text, max(0, at - 600), at) is None:
        return []
    return [(*match.span(2), "password")]


def driver_address(text: str, at: int) -> list[Span]:
    """Find the password in ``user:password@tcp(host)``, the address of Go's database drivers."""
    match = _DSN_USER.search(text, max(0, at - 200), at) if _DSN.match(text, at) else None
    return [(*match.span(1), "url-password")] if match and not _hidden(match[1]) else []


def cookie(text: str, at: int) -> list[Span]:
    """Find the values by which a server knows who asks, in a Cookie or Set-Cookie header."""
    match = _COOKIE.match(text, at)
    if match is None:
        return []
    stop = min(len(text), match.end() + 4_000)
    if _COOKIE_VALUE.search(text, match.end(), stop) is None:
        return []
    pairs = _COOKIE_PAIR.finditer(text, match.end(), stop)
    return [(*pair.span(1), "cookie") for pair in pairs if is_random(pair[1]) and not _hidden(pair[1])]


def aws_pair(text: str, at: int) -> list[Span]:
    """Find the secret access key near its key id, as in an exported table."""
    if _AWS_ID.match(text, at) is None:
        return []
    low, high = max(0, at - 120), min(len(text), at + 160)
    for match in _AWS_SECRET.finditer(text, low, high):
        value = match[0]
        if value.lower() != value and value.upper() != value:
            return [(*match.span(), "aws-secret-key")]
    return []


def login_pair(text: str, at: int) -> list[Span]:
    """Find the password in ``login: admin / Firecrest7``, and the same of credentials."""
    match = _LOGIN_PAIR.match(text, at)
    # "GET / login2": a name in capitals is no account
    if match is None or match["user"].isupper():
        return []
    # "a/b" and "a:b" are paths, ports and names of settings too
    form = Form.NEXT if match["tight"] or not match["sign"] else Form.INLINE
    if not looks_secret(KeyClass.PASSWORD, match["password"], form):
        return []
    return [(*match.span("password"), "password")]


def code_pair(text: str, at: int) -> list[Span]:
    """Find the password in ``auth=("ada", "…")`` and ``login("ada", "…")``."""
    match = _CODE_PAIR.match(text, at)
    if match is None:
        return []
    form = Form.QUOTED if match["sure"] else Form.LINE
    return [(*match.span("password"), "password")] if looks_secret(KeyClass.PASSWORD, match["password"], form) else []


def piped_password(text: str, at: int) -> list[Span]:
    """Find the password in ``echo … | sudo -S``, and in what else reads one from a pipe."""
    pipe = text.rfind("|", max(0, at - 200), at)
    if pipe < 0 or "\n" in text[pipe:at] or _READS_PASSWORD.match(text, at) is None:
        return []
    match = _ECHO.search(text, max(0, pipe - 300), pipe)
    name = "password" if text.startswith("chpasswd", at) else "value"
    if match is None or not looks_secret(KeyClass.PASSWORD, match[name], Form.QUOTED):
        return []
    return [(*match.span(name), "password")]


def account_pass(text: str, at: int) -> list[Span]:
    """Find the password in ``user ada, pass Firecrest7``.

    The verb and the command of these names have no account before them.
    """
    match = _PASS.match(text, at)
    if match is None or ACCOUNT.search(text, max(0, at - 120), at) is None:
        return []
    start, stop = trim_value(text, *match.span("value"), at)
    return [(start, stop, "password")] if looks_secret(KeyClass.PASSWORD, text[start:stop], Form.INLINE) else []


def changed_password(text: str, at: int) -> list[Span]:
    """Find both passwords in ``changed the password from X to Y``."""
    match = _CHANGED.match(text, at)
    if match is None or not all(looks_secret(KeyClass.PASSWORD, value, Form.INLINE) for value in match.groups()):
        return []
    return [(*match.span(1), "password"), (*match.span(2), "password")]


def table_columns(text: str, at: int) -> list[Span]:
    """Find the secrets of a Markdown table, under heads that announce them.

    The rule below the heads is at ``at``.
    """
    rule = _TABLE_RULE.match(text, at)
    if rule is None:
        return []
    head = text[max(text.rfind("\n", max(0, at - _ROW_MAX), at - 1) + 1, at - _ROW_MAX) : at - 1]
    keys = [(column, key) for column, name in enumerate(_cells(head)) if (key := key_class(name.strip(" \t\r`*_")))]
    spans: list[Span] = []
    stop = rule.end()
    # a second rule is of another table: so a text of nothing but heads and rules costs time linear in it
    while keys and (row := _TABLE_ROW.match(text, stop)) and not _TABLE_RULE.match(text, row.start(1)):
        cells, start = _cells(row[1]), row.start(1)
        starts = [start, *(start := start + len(cell) + 1 for cell in cells)]
        for column, key in keys:
            value = cells[column].strip(" \t\r`") if column < len(cells) else ""
            if looks_secret(key, value, Form.LINE):
                begin = text.index(value, starts[column])
                spans.append((begin, begin + len(value), key.value))
        stop = row.end()
    return spans


def _cells(row: str) -> list[str]:
    return row.split("|") if "|" in row[1:] else []


class Context(NamedTuple):
    """Finder and the literals that trigger it."""

    literals: tuple[str, ...]
    back: int
    """Characters from the start of the match to the literal."""
    find: Callable[[str, int], list[Span]]
    lead: str = ""
    """What every match begins with, lower case."""


_OPTIONS = (
    # literal, characters before it, what the command begins with, the rest of it, what stands before the password
    ("mysq", 0, "mysql", r"(?:dump|admin)?\b", r"-p"),
    ("iadb", 3, "mariadb", r"\b", r"-p"),
    ("is-c", 3, "redis-cli", r"", r"-a\s{1,4}"),
    ("logi", 0, "login", r"\b", r"-p(?:\s{1,4}|=)(?=\S{6})"),  # no port
    ("zip ", 0, "zip ", r"", r"-P\s{0,4}"),
    *((f"7z{letter}", 0, "7z", r"[arz]?\b", r"-p") for letter in (" a", " x", " e", " u", " t", "a ", "r ", "z ")),
    ("rar ", 0, "rar ", r"", r"-h?p"),
    ("ldap", 0, "ldap", r"(?:search|add|modify|delete|passwd|whoami|compare|modrdn)\b", r"-w\s{0,4}"),
    ("mosq", 0, "mosquitto_", r"(?:pub|sub|rr)\b", r"-P\s{1,4}"),
    ("nssl", 3, "openssl ", r"", r"-[kK]\s{1,4}"),
    ("mong", 0, "mongo", r"(?:sh|dump|restore|export|import)?\b", r"-p(?:\s{1,4}|=)"),
    ("sqlc", 0, "sqlcmd", r"\b", r"-P\s{0,4}"),
    ("ipmi", 0, "ipmitool", r"\b", r"-P\s{1,4}"),
    ("rdes", 0, "rdesktop", r"\b", r"-p\s{1,4}"),
    ("erdp", 3, "freerdp", r"\d?\b", r"/p:"),
    ("psex", 0, "psexec", r"\w*\b", r"-p\s{1,4}"),
    ("cqls", 0, "cqlsh", r"\b", r"-p\s{1,4}"),
    ("radd", 3, "useradd", r"\b", r"-p\s{1,4}"),
    ("keyg", 4, "ssh-keygen", r"\b", r"-[NP]\s{1,4}"),
    ("snmp", 0, "snmp", r"\w+\b", r"-A\s{1,4}"),
    ("snmp", 0, "snmp", r"\w+\b", r"-X\s{1,4}"),
    ("smbc", 0, "smbclient", r"\b", r"(?:-U\s{0,4}|--user=)[\"']?[^\s%\"']{1,80}%"),
    ("rpcc", 0, "rpcclient", r"\b", r"(?:-U\s{0,4}|--user=)[\"']?[^\s%\"']{1,80}%"),
    ("htas", 2, "schtasks", r"\b", r"/(?i:rp)\s{1,4}"),
    ("lftp", 0, "lftp", r"\b", r"-u\s{1,4}[\"']?[^\s,\"']{1,80},"),
)
_ARGUMENTS = (
    # the same of commands that know the password by its place
    (
        "htpa",
        0,
        "htpasswd ",
        r"(?=(?:-\S{1,9} ){0,9}-\w{0,8}b)(?:-C \d{1,2} |-\w{1,9} ){1,9}(?:[^\s<>|;&-][^\s<>|;&]{0,200} ){1,2}",
    ),
    (
        "mqct",
        6,
        "rabbitmqctl ",
        r"(?:-\S{1,40} (?:\S{1,80} )?)?(?:add_user|change_password|authenticate_user) \S{1,80} ",
    ),
    ("wpa_", 0, "wpa_passphrase ", r"(?:\"[^\"\n]{1,40}\"|'[^'\n]{1,40}'|[^\s\"']{1,40}) "),
    ("sshp", 0, "sshpass", r"\s{1,4}-p\s{0,4}"),
    ("bind", 0, "bindpw", r"\s{1,4}"),
    ("hpas", 1, "chpasswd", r"[ \t]*<<(?:<[ \t]*|-?[ \t]*[\"']?\w{1,20}[\"']?\n)[\"']?[\w.-]{1,64}:"),
    ("net ", 0, "net use", r" [^\n]{0,160}?/(?i:u|user):\S{1,80} (?!/)"),
    ("net ", 0, "net use", r" (?:\S{1,160} ){1,2}(?!/|\\\\|\w:\s)(?=\S{4,80} /(?i:u|user):)"),
    ("udo ", 1, "sudo ", r"(?:-[a-zA-Z]{1,9} ){0,4}-[a-zA-Z]{0,9}S\b[^\n|;<]{0,100}<<<[ \t]*"),
    ("mc a", 0, "mc alias set ", r"(?:\S{1,200} ){3}"),
    ("net ", 0, "net user ", r"[\w.-]{1,64} (?!/)"),
)


def _commands() -> Iterator[Context]:
    """Yield the finders of passwords on the command lines of well-known programs."""
    for literal, back, lead, rest, before in _OPTIONS:
        pattern = rf"(?i:{lead}{rest})[^\n|;&]{{0,160}}?(?<=\s){before}{_ARGUMENT}"
        yield Context((literal,), back, _option(pattern), lead)
    for literal, back, lead, before in _ARGUMENTS:
        yield Context((literal,), back, _option(f"(?i:{lead}){before}{_ARGUMENT}"), lead)


CONTEXTS = (
    Context(("-beg",), 4, key_block),
    Context(("-- b",), 2, key_block),
    Context(("-end",), 4, key_block_end),
    Context(("-- e",), 2, key_block_end),
    Context(("ls0t",), 0, encoded_key),
    Context(("te-l",), 5, putty_key),
    Context(tuple(f"{c}://" for c in "abcdefghijklmnopqrstuvwxyz0123456789"), -1, url_credentials),
    Context(("oriz",), 4, authorization, "authorization"),
    Context(("bear",), 0, bearer, "bearer"),
    Context(("basi",), 0, basic, "basic"),
    Context((" -u ", ' -u"', " -u'", "--us", "--pr"), 0, user_option),
    Context(("fied",), 6, sql_password, "identified"),
    Context(("to-s",), 0, _option(_SECURE_STRING), "to-securestring"),
    *_commands(),
    Context(("sqlp",), 0, _option(_SQLPLUS), "sqlplus "),
    Context(("wifi",), 0, _option(_WIFI), "wifi:"),
    Context(("uth=", "uth(", "uth:", "uth ", 'uth"', "uth'"), 1, code_pair, "auth"),
    Context(("gin(",), 2, code_pair, "login("),
    Context(("als(",), 8, code_pair, "credentials("),
    Context(("hpas",), 1, piped_password, "chpasswd"),
    Context(("d-st",), 7, piped_password, "password-"),
    Context(("wd -",), 4, piped_password, "passwd --"),
    Context(("udo ",), 1, piped_password, "sudo -"),
    Context(("kini",), 0, piped_password, "kinit"),
    Context(("e-fd",), 9, piped_password, "passphrase-fd"),
    Context(("@tcp", "@uni"), 0, driver_address),
    Context(("okie",), 2, cookie, "cookie"),
    Context(("akia", "asia"), 0, aws_pair),
    Context(("logi",), 0, login_pair, "login"),
    Context(("cred",), 0, login_pair, "cred"),
    Context(("ass ",), 1, account_pass, "pass "),
    Context(("pwd ",), 0, account_pass, "pwd "),
    Context(("zuga",), 0, login_pair, "zugangsdaten"),
    Context(("anme",), 0, login_pair, "anmeldedaten"),
    Context(("assw",), 1, changed_password, "passw"),
    Context(("\n|--", "\n| -", "\n|:-", "\n| :"), -1, table_columns),
)
"""All finders, in no particular order."""
