"""Secrets by context: key blocks, URLs, headers, commands, values of secret names.

Each finder runs where a search literal of its row was found, and returns the spans to mask. What can run far (key
blocks) is bounded, so a text made of nothing but openings costs time linear in its length.

Assignments (``key = value`` in code, configuration, command lines, tables and prose): the key must *end* in a key word
(``DB_PASSWORD``, ``clientSecret``, ``api-key``, but not ``password_hash``, ``token_type``, ``secretName``), a separator
must follow, and the value is read by the rules of its notation: quotes of any depth of escaping, a whole ``.env`` line,
one pair of a connection string, one parameter of a query. Only the value is reported, so quotes and names stay; `values`
decides whether it is a secret. Right behind the name, as in ``password X``, it must look like a password by itself, or an
account must stand before it.
"""

from __future__ import annotations

import functools
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from string import ascii_lowercase, digits
from typing import NamedTuple

from lamina_engine import after_fork
from lamina_engine.redact.values import MASK, Form, KeyClass, is_placeholder, is_random, is_reference, looks_secret

Span = tuple[int, int, str]

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
_IDENTIFIED = (
    r"(?i:identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by\s{1,4}(?:password\s{1,4})?)(['\"])([^'\"\n]{3,200})\1"
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
_TABLE_RULE = re.compile(r"\|[ \t]?:?-{2,}[-:| \t]*(?:\n|\Z)")
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
    if match is None or _ACCOUNT.search(text, max(0, at - 120), at) is None:
        return []
    start, stop = _trim(text, *match.span("value"), at)
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
    keys = [(column, key) for column, name in enumerate(_cells(head)) if (key := key_class(name.strip(" \t`*_")))]
    spans: list[Span] = []
    stop = rule.end()
    # a second rule is of another table: so a text of nothing but heads and rules costs time linear in it
    while keys and (row := _TABLE_ROW.match(text, stop)) and not _TABLE_RULE.match(text, row.start(1)):
        cells, start = _cells(row[1]), row.start(1)
        starts = [start, *(start := start + len(cell) + 1 for cell in cells)]
        for column, key in keys:
            value = cells[column].strip(" \t`") if column < len(cells) else ""
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
    Context(("fied",), 6, _option(_IDENTIFIED), "identified"),
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


_VALUE_MAX = 4096  # characters of a quoted value; longer literals are data, and the bound keeps bad input linear
_IDENTIFIER = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$@-")

_BOUNDARY = r"(?-i:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=[a-z0-9])(?=[A-Z]))"
_SUFFIX = (
    r"(?:[_-]?(?:base64|b64|prod(?:uction)?|dev(?:elopment)?|test|stag(?:ing|e)|live|value|plain|raw|old|new|current"
    r"|default|encoded|string|confirm(?:ation)?|again|\d{1,3}))?(?![A-Za-z0-9])(?![_-][A-Za-z0-9])_?"
)
_KEY_NAMES = (
    "api access private encryption decryption signing master account shared auth service session app application"
    " license consumer hmac subscription storage crypto cipher server deploy admin fernet jwt webhook vault ssh"
    " integration bot stripe openai anthropic gemini sendgrid maps security sending write root aes rsa"
)
_PLAIN = (
    ("assw", 1, KeyClass.PASSWORD, r"passw(?:or[dt]|d)"),
    ("assc", 1, KeyClass.PASSWORD, r"passcode"),
    ("zuga", 0, KeyClass.PASSWORD, r"zugangscode"),
    ("nnwo", 2, KeyClass.PASSWORD, r"kennwort"),
    ("chtw", 2, KeyClass.PASSWORD, r"wachtwoord"),
    ("e pa", 5, KeyClass.PASSWORD, r"mot[ ]de[ ]passe"),
    ("e_pa", 5, KeyClass.PASSWORD, r"mot_de_passe"),
    ("senh", 0, KeyClass.PASSWORD, r"senha"),
    ("gang", 2, KeyClass.PASSWORD, r"adgangskode"),
    ("hesl", 0, KeyClass.PASSWORD, r"heslo"),
    ("lasa", 2, KeyClass.PASSWORD, r"salasana"),
    ("sena", 6, KeyClass.PASSWORD, r"contrasena"),
    ("assp", 1, KeyClass.PASSPHRASE, r"passphrase"),
    ("secr", 0, KeyClass.SECRET, r"secret(?:[ _.-]?(?:access[ _.-]?)?key(?:[ _.-]?base)?)?"),
    ("toke", 0, KeyClass.TOKEN, r"token"),
    ("cred", 0, KeyClass.SECRET, r"credentials?"),
    ("mnem", 0, KeyClass.MNEMONIC, r"mnemonic"),
)
_WORLD = (
    # Polish, Romanian, Spanish, Portuguese, Russian, Chinese, Japanese, Korean, Swedish, Czech, Turkish: not all ASCII
    *(
        "has\u0142o",
        "parol\u0103",
        "contrase\xf1a",
        "palavra-passe",
        "l\xf6senord",
        "\u015fifre",
        "\u0434\u043e\u0441\u0442\u0443\u043f\u0430",
    ),
    *(
        "\u043f\u0430\u0440\u043e\u043b\u044c",
        "\u5bc6\u7801",
        "\u5bc6\u78bc",
        "\u53e3\u4ee4",
        "\u30d1\u30b9\u30ef\u30fc\u30c9",
        "\ube44\ubc00\ubc88\ud638",
    ),
)
"""Words for a password that have letters beyond ASCII; `world_places` finds them."""
_SHORT = (
    ("pass", KeyClass.PASSWORD),
    ("pat", KeyClass.TOKEN),
    ("pwd", KeyClass.PASSWORD),
    ("psk", KeyClass.PASSWORD),
    ("auth", KeyClass.TOKEN),
)
_COMPOUND = (
    (KeyClass.PASSWORD, "store key user owner", "pass"),
    (KeyClass.KEY, _KEY_NAMES, "key"),
    (KeyClass.MNEMONIC, "seed recovery backup wallet", "phrase"),
)

# both by first letters: at these most words of prose behind a name already fail
_OWNER = (
    r"[ \t](?:(?:f(?:or|\xfcrs?|uer)|o[fn]|to|a(?:[tm]|uf)|i[nm]|d(?:el(?:la)?|[ueoa])|vo(?:n|m|or)|zu[mr]?)"
    r"(?:[ \t][^\s,:;!?=]{1,40}+(?<!\.)){1,5}?|\([^()\n]{1,40}\))"
)
"""Whose or what for: ``password of the user ada on db01``, ``password (root)``."""
_BE = r"[ \t](?:now[ \t])?be(?:en)?"
_IS = (
    rf"(?:ist?|are|w(?:as|ar|(?:ill|ould){_BE})|to|s(?:ind|hould{_BE})|has{_BE}|laute(?:t|n)|hei(?:ss|\xdf)t|bleibt"
    r"|e(?:quals|st?|ra|r)|\xe9|\xe8|jest|\xe4r)"
    r"(?:[ \t](?:now|still|currently|again|jetzt|nun|aktuell|derzeit|weiterhin|wieder|noch|as[ \t]follows|wie[ \t]folgt))?"
    r"(?:[ \t](?:set|changed|reset|updated)[ \t]to)?"
    r"|(?:set|changed|reset|updated)[ \t]to|auf(?=[ \t]\S{4,80}[ \t](?:ge|um|zur))"
)
# what stands between a name and its value; `_pattern` adds the last way, no sign at all
_AFTER = (
    r"(?P<close>\\{0,3}[\"'`])?[\])]?[*_`]{0,3}"
    r"(?:"
    # an annotation (password: str = "...") counts only before a quoted value: "password: abc=" ends in padding
    r"\s{0,3}:\s{0,3}[&'A-Za-z_][\w.]{0,40}(?:\[[\w\[\], .]{0,40}\])?(?:\s?\|\s?[\w.]{1,40}){0,3}"
    r"\s{0,3}(?P<annotated>=)(?=[ \t]{0,4}[a-z]{0,2}[\"'])"
    r"|\s{0,8}(?P<equals>=>|:=|\?=|\+=|=~|={1,3}|!={1,2})"
    r"|(?P<encoded>%3[AD])"
    r"|\s{0,4}\{[^{}]{0,300}?\b(?P<block>default\s{0,4}=)"  # variable "db_password" { default = "..." }
    r"|(?:[ \t]\[[^\]\n]{0,40}\])?\s{0,4}(?P<colon>::?|\uff1a)(?!//)"  # aws configure: Secret Access Key [None]:
    r"|(?P<call>\()(?=\\{0,3}[\"'])"
    r"|[ \t]{1,20}(?P<table>\|)(?=[ \t])"
    r"|(?P<xml>>)"
    r"|[ \t]{0,3}(?P<comma>,)(?=[ \t]*\\{0,3}[\"'`](?!value|default))"
    r"|(?:[,;]\s{0,40}|\s{1,40})(?:-[ \t])?\\{0,3}[\"']?(?:value|default)\\{0,3}[\"']?\s{0,4}(?P<named>[:=])"
    rf"|(?P<owner>{_OWNER})?(?:[ \t]{{1,4}}(?:{_IS})[ \t]?:?|(?(owner)[ \t]?:|(?!)))(?P<prose>)(?=\s)"
    r"|[ \t]?(?P<east>[\u306f\u662f\u4e3a\u70ba][:\uff1a]?)(?=[^\s])"
)
_SPACE = r"|(?P<space>)(?=[ \t]))[*_]{0,2}"
_WRAPPED = r"|(?P<space>)(?=\s))[*_]{0,2}"
_OPEN = re.compile(r"(?:[ \t]*\n)?[ \t]*(?:[brufL]{1,2}|[@$])?(?P<quote>\\{0,3}(?:\"\"\"|'''|[\"'`]))")
# bare keys have no more characters than these; expressions do
_TOKEN = re.compile(r"(?:\[redacted:[a-z0-9-]+\])?[A-Za-z0-9+/_.~:$!@%^*#-]*+(?:={1,2}(?![\w.$]))?")
_DASH = re.compile(r"[ \t]*(?:(?:[-\u2013\u2014]{1,2}>?|\u2192)(?=[ \t])|\()")
_ACCOUNT = re.compile(
    r"(?:user(?:[ _-]?name)?|account|benutzer(?:in|name|konto)?|nutzer(?:name)?|konto|e-?mail"
    r"|(?:log|sign)(?:ged|ed)?[ -]?(?:in|on)|angemeldet)"
    r"(?:[ \t]{0,2}[:=][ \t]{0,2}|[ \t]{1,2})(?:(?:is|ist|as|als)[ \t])?[\"'`]?"
    r"(?!(?:anonymous|page|form|screen|name|field|and|or|with|via|enters?)\b)[\w.@+-]{2,64}[\"'`]?"
    r"[ \t]{0,2}[,;/|&+]?[ \t]{0,2}(?:(?:and|und|with|mit|the|dem|das|his|her|its)[ \t]){0,2}\Z",
    re.IGNORECASE,
)
"""Who logs in, said just before the password."""
_BELOW = re.compile(r"[ \t]*(?:\r?\n[ \t>]*){1,2}(?:`{3}[a-z]{0,10}\r?\n[ \t>]*)?`?(?=[^\s`])")
"""The line ends behind the name: the sentence is wrapped there, or the password stands alone below, in a fence or not."""
_BLOCK_SCALAR = re.compile(r"[ \t]*[|>][+-]?[ \t]*\n[ \t]+(?=\S)")
_BARE = re.compile(r"[ \t]*(?P<value>[^\s\"'`<>]{1,1024})")
_XML = re.compile(r"\s{0,8}(?:<!\[CDATA\[)?(?P<value>[^<>\s]{1,512}?)\s{0,8}(?:\]\]>)?</")
_REST = re.compile(r"[ \t]*[\"'`]?,?[ \t]*(?:(?:#|//|--)[^\n]{0,400})?(?:\\?\r?\n|\\[nr]|\\?\"|\Z)")
_LINE_START = re.compile(
    r"(?>[\s>*+#;/-]+|\d{1,3}[.)]\s|(?:export|set|setenv|ENV|ARG|env|local|readonly|declare|let|const|var|val|my|our"
    r"|static|final|private|public|String|string|str|auto)\s|\$env:|-[eDx]|[$@:{\"'`])*+"
)
_SHELL = re.compile(r"(?:\$|\b(?:export|env|local|readonly|declare))\s")
_DOCKER = re.compile(r"[ \t]*(?:ENV|ARG)[ \t]+\Z")
_PHRASE = re.compile(r"[a-z]{2,12}(?: [a-z]{2,12}){2,11}[ \t]*(?:\n|\Z)")
_PROGRAM = re.compile(
    r" (?:sudo|env|exec|nohup|nice|time|borg|restic|duplicity|gpg|openssl|ssh|scp|rsync|rclone|sh|bash|zsh|make|docker|git"
    r"|npm|npx|yarn|pnpm|node|python|pip|uv|cargo|go|java|mvn|gradle|kubectl|helm|terraform|ansible|pytest|psql|pg|mysql"
    r"|cryptsetup|age|sops|backup|deploy|curl|wget)\b"
)
_COMMAND = re.compile(r";[a-z./_-]+\Z")
_ENV_FILE = re.compile(r"\w+=\S*|\[.+\]")
_WALLET = re.compile(r"[ \t]*\\{0,3}[\"'`]?(?P<value>[a-z]{3,8}(?:[ \t]+[a-z]{3,8}){11,23})\b")
_NETRC_LOGIN = re.compile(r"(?:^|\n|machine[ \t]+\S+\s+)[ \t]*login[ \t]+\S+\s+\Z")
_SETTER = re.compile(r"(?:set|with)_?\Z", re.IGNORECASE)
_NOT_TOKENS = re.compile(
    r"(?:page|pad|eos|bos|unk|sep|cls|mask|next|start|end|special|stop|continuation|image|cursor|max|min|num|design"
    r"|colou?r|public[_ -]?key)[_ -]?\Z",
    re.IGNORECASE,
)
_SHELL_NAME = re.compile(r"[A-Z][A-Z0-9_]*=")
_TOLD = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{24,128}")
_CUT_QUERY = re.compile(r"[&#]|\\[nrt\"]|%26")
_CUT_PAIR = re.compile(r";|\\[nrt\"]")
_CUT = re.compile(r"\\+[nrt\"']|[,&;](?=[\w.-]{1,40}[=:])|,\Z|\\+\Z|[\u3001\u3002\uff0c\uff1b]")
_PAIR_FOLLOWS = re.compile(r"[^\s;]{0,1024};\s?(?:[A-Za-z][\w ]{0,40}=|\Z|[\"'])")


@after_fork.track_property_locks
@dataclass(frozen=True)
class Word:
    """Key word of an assignment."""

    key: KeyClass
    pattern: str
    """Matches from the word's first letter through the separator."""
    lead: str
    """What every match begins with, lower case."""
    spoken: bool
    """True if a string beside it may be its value without a sign between them: ``PASSWORD 'x'``, but not "pass `x=1`",
    where the word is a verb, nor "tiktoken `x`"."""
    flags: re.RegexFlag = re.IGNORECASE | re.ASCII

    @functools.cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the compiled pattern; most processes never meet the word."""
        return re.compile(self.pattern, self.flags)


class Value(NamedTuple):
    """Span of a value and its notation."""

    start: int
    stop: int
    form: Form


def _lead(regex: str) -> str:
    """Return the letters that the expression of a key word begins with."""
    found = re.match(r"[a-z]*(?!\?)", regex)  # a letter before a question mark may be left out
    return found[0] if found else ""


def _pattern(word: str, *, bounded: bool = False, wraps: bool = False) -> str:
    # a line that ends in "pass" or "token" is code; one that ends in "password" may go on below
    return (_BOUNDARY if bounded else "") + word + _SUFFIX + _AFTER + (_WRAPPED if wraps else _SPACE)


def _table() -> dict[str, list[tuple[int, Word]]]:
    table: dict[str, list[tuple[int, Word]]] = {}

    def add(literal: str, back: int, word: Word) -> None:
        table.setdefault(literal, []).append((back, word))

    def word(key: KeyClass, regex: str, *, spoken: bool = True, bounded: bool = False) -> Word:
        wraps = spoken and key in (KeyClass.PASSWORD, KeyClass.PASSPHRASE)
        return Word(key, _pattern(regex, bounded=bounded, wraps=wraps), _lead(regex), spoken)

    for literal, back, key, regex in _PLAIN:
        add(literal, back, word(key, regex, spoken=key is not KeyClass.TOKEN))
    for name, key in _SHORT:
        short = word(key, name, spoken=name == "psk", bounded=True)
        # a space alone would stop at every "south " and "class "
        for follower in (*"=:\"'`],>|\\\t\n", " =", " :", " |", "  ", *((" i",) if key is KeyClass.PASSWORD else ())):
            add((name + follower)[-4:], len(name + follower) - 4, short)
        add(f"-{name}"[:4], -1, short)
    short = word(KeyClass.PASSWORD, r"pw")
    for lead in " _-\n\"'(/":
        for follower in "=: ":
            add(f"{lead}pw{follower}", -1, short)
    first = word(KeyClass.PASSWORD, r"pw", bounded=True)  # what a text begins with has nothing before it
    for follower in (": ", " =", *(f"{sign}{letter}" for sign in "= " for letter in ascii_lowercase + digits)):
        add(f"pw{follower}", 0, first)
    for key, names, last in _COMPOUND:
        for name in names.split():
            compound = word(key, rf"{name}[ _.-]?{last}", bounded=True)
            for gap in ("_", "-", " ", ".", ""):
                add((name[-1:] + gap + last)[:4], len(name) - 1, compound)
    return table


WORDS = _table()
"""Key words by search literal, each with the characters from the word's start to the literal."""

_WORLD_WORDS = tuple(
    (form, Word(KeyClass.PASSWORD, _pattern(word, wraps=True), "", True, re.IGNORECASE))
    for word in _WORLD
    for form in dict.fromkeys((word, word.capitalize(), word.upper()))
)


def world_places(text: str) -> Iterator[tuple[int, Word]]:
    """Yield where a text that is not ASCII has a word for a password."""
    for form, word in _WORLD_WORDS:
        at = text.find(form)
        while at >= 0:
            yield at, word
            at = text.find(form, at + 1)


@functools.cache
def _ends() -> tuple[tuple[KeyClass, re.Pattern[str]], ...]:
    """Return the expressions of names that announce a secret, compiled at the first call."""
    words = (
        *((key, regex) for _, _, key, regex in _PLAIN),
        *((KeyClass.PASSWORD, word) for word in _WORLD),
        *((key, _BOUNDARY + name) for name, key in _SHORT),
        *((key, rf"{_BOUNDARY}(?:{names.replace(' ', '|')})[ _.-]?{last}") for key, names, last in _COMPOUND),
    )
    return tuple((key, re.compile(rf"{word}s?{_SUFFIX}\Z", re.IGNORECASE | re.ASCII)) for key, word in words)


_ANY_WORD = re.compile(
    "|".join(
        (*(regex for *_, regex in _PLAIN), *_WORLD, *(name for name, _ in _SHORT), *(last for *_, last in _COMPOUND))
    ),
    re.IGNORECASE,
)
"""What every name that announces a secret holds: one look for the many names that announce none."""


def key_class(name: str) -> KeyClass | None:
    """Return the class of secret that a field name announces (``db_password``), or None."""
    if len(name) > 128 or _ANY_WORD.search(name) is None:
        return None
    for key, regex in _ends():
        match = regex.search(name)
        if match and not (key is KeyClass.TOKEN and _NOT_TOKENS.search(name, 0, match.start())):
            return key
    return None


def find_assignment(text: str, at: int, word: Word) -> tuple[int, int, str] | None:
    """Find the secret assigned to a key whose word may start here: its span and kind."""
    # looks at most some 5,000 characters ahead and 100 back, so a text full of key words costs time linear in it
    match = word.regex.match(text, at)
    if match is None:
        return None
    if word.key is KeyClass.TOKEN and _NOT_TOKENS.search(text, max(0, at - 16), at):
        return None
    if word.key is KeyClass.MNEMONIC:
        wallet = _WALLET.match(text, match.end())
        return (wallet.start("value"), wallet.end("value"), "mnemonic") if wallet else None
    begin = _identifier_start(text, at)
    value = _value(text, begin, match, word)
    if value is None:
        return None
    leads = value.form not in (Form.QUOTED, Form.NEXT) and _starts_line(text, begin)
    shell = leads and _in_shell(text, begin, match.end())
    following = _COMMAND.search(text, value.start, value.stop) if shell and value.form is Form.INLINE else None
    if following:
        value = value._replace(stop=following.start())
    readings = [value]
    if word.key is KeyClass.PASSPHRASE and leads:
        if shell and not (_PHRASE.match(text, value.start) and not _PROGRAM.match(text, value.stop)):
            readings = [value._replace(form=Form.QUOTED)]  # a shell takes a bare word as it takes a quoted one
        elif not MASK.match(text, value.start):  # the words behind a mask are no phrase
            readings.insert(0, Value(value.start, _line_stop(text, value.stop), Form.LINE))
    kind = KeyClass.PASSWORD if word.key is KeyClass.PASSPHRASE else word.key
    judged = word.key
    if value.form is Form.QUOTED and judged is KeyClass.PASSWORD and _SHELL_NAME.fullmatch(text, begin, match.end()):
        judged = KeyClass.PASSPHRASE  # SMTP_PASSWORD='violet pencil orbit': quotes of a shell, for the blanks
    for start, stop, form in readings:
        if looks_secret(judged, text[start:stop], form):
            return start, stop, kind.value
    return None


def _value(text: str, begin: int, match: re.Match[str], word: Word) -> Value | None:
    """Read the value after a separator; None where its notation is unknown."""
    separator, at = match.lastgroup, match.end()
    if separator == "call" and not _SETTER.search(text, max(0, begin - 1), match.start()):
        return None
    if separator == "xml":
        element = _XML.match(text, at) if match["close"] or text[begin - 1 : begin] in ("<", ":") else None
        return Value(element.start("value"), element.end("value"), Form.LINE) if element else None
    block = _BLOCK_SCALAR.match(text, at) if separator == "colon" else None
    if block:
        at = block.end()
    if separator in ("space", "prose", "colon") and _takes_next(text, begin, word):
        below = _BELOW.match(text, at)
        if below and not (separator == "colon" and _OPEN.match(text, at)):
            return _next_word(text, begin, below.end())
    opening = None if separator == "table" else _OPEN.match(text, at)
    if opening:
        quoted = _quoted(text, opening)
        if quoted and separator == "comma" and not match["close"]:
            return None
        if quoted:
            if separator in ("space", "comma", "prose", "east") and text[begin] != "-":
                spoken = separator != "space" or word.spoken or text[begin : match.start() + 4].isupper()
                if separator == "prose" and " " in text[quoted.start : quoted.stop]:
                    return quoted  # quotes around one word may stress it; around several they tell what is said
                return quoted._replace(form=Form.INLINE) if spoken else None
            return quoted
        at = opening.end()
    if separator == "space":
        return _after_space(text, begin, at, word)
    if separator == "comma":
        return None
    # names of environment variables are written in capitals: there the value is the rest of the line
    whole = word.key in (KeyClass.PASSWORD, KeyClass.PASSPHRASE) or text[begin : match.start() + 4].isupper()
    value = _bare(text, begin, at, separator or "", whole=whole)
    if value is None or whole:
        return value
    plain = _TOKEN.match(text, value.start, value.stop)
    if plain is None or text.startswith(("(", "[", "{", "="), plain.end()):
        return None  # an expression
    return Value(value.start, plain.end(), value.form)


def _quoted(text: str, opening: re.Match[str]) -> Value | None:
    quote, start = opening["quote"], opening.end()
    if quote[-1] == "`" and opening.start("quote") > 0 and text[opening.start("quote") - 1] == "`":
        return None
    stop = text.find(quote, start, start + _VALUE_MAX)
    if len(quote) == 1:
        while stop > start and text[stop - 1] == "\\":
            stop = text.find(quote, stop + 1, start + _VALUE_MAX)
        while quote == "'" and stop > start and text.startswith("''", stop):  # YAML and SQL write ' as ''
            stop = text.find(quote, stop + 2, start + _VALUE_MAX)
    if stop < 0 or (len(quote) < 3 and text.find("\n", start, stop) >= 0):
        return None
    return Value(start, stop, Form.QUOTED)


def _after_space(text: str, begin: int, at: int, word: Word) -> Value | None:
    """Read ``--password X``, a .netrc's ``password X``, and ``auth token 3f9a1c…``.

    Other words are prose, unless they look like a password by themselves or an account stands before them.
    """
    bare = _BARE.match(text, at)
    if bare is None:
        return None
    start, stop = _trim(text, bare.start("value"), bare.end("value"), begin)
    if bare["value"][0] not in "{[(":
        if _NETRC_LOGIN.search(text, max(0, begin - 120), begin):
            return Value(start, stop, Form.QUOTED)
        named = text[begin] == "-" or _DOCKER.match(text, _line_start(text, begin), begin)  # ENV API_TOKEN value
        if named and text[start : start + 1] not in ("-", "|", ""):
            return Value(start, stop, Form.LINE)
    if _takes_next(text, begin, word):
        dash = _DASH.match(text, at)
        value = _next_word(text, begin, dash.end() if dash else at)
        if value is None or text[value.start : value.stop].isalpha():  # a word is none in either form
            return None
        account = _ACCOUNT.search(text, max(0, begin - 120), begin)
        return value._replace(form=Form.INLINE) if account else value
    # said in passing: what is told must be long, and digits and letters in one run
    is_told = word.key is KeyClass.TOKEN and _TOLD.fullmatch(text, start, stop) is not None
    return Value(start, stop, Form.INLINE) if is_told else None


def _takes_next(text: str, begin: int, word: Word) -> bool:
    """Return whether a bare word right behind this one may be its value."""
    passwords = word.spoken and word.key in (KeyClass.PASSWORD, KeyClass.PASSPHRASE)
    return passwords and text[begin] != "-" and text[max(0, begin - 5) : begin] != "/etc/"


def _next_word(text: str, begin: int, at: int) -> Value | None:
    bare = _BARE.match(text, at)
    if bare is None or bare["value"][0] in "{[(":
        return None
    return Value(*_trim(text, bare.start("value"), bare.end("value"), begin), Form.NEXT)


def _bare(text: str, begin: int, at: int, separator: str, *, whole: bool) -> Value | None:
    bare = _BARE.match(text, at)
    if bare is None:
        return None
    start, stop = bare.span("value")
    alone = (
        separator in ("equals", "colon", "named") and _starts_line(text, begin) and _REST.match(text, stop) is not None
    )
    if alone and whole and separator == "equals" and text[stop - 1] not in ",;)]}" and "\\" not in text[start:stop]:
        # a line of an environment file: everything up to the line's end is the value
        return Value(start, stop, Form.LINE)
    start, stop = _trim(text, start, stop, begin)
    form = Form.LINE if alone and _REST.match(text, stop) else Form.INLINE
    if text.startswith("(", stop) or start >= stop:
        return None
    return Value(start, stop, form)


def _trim(text: str, start: int, stop: int, begin: int) -> tuple[int, int]:
    """Cut a bare value where its notation ends it: next parameter, next pair, punctuation."""
    before = text[begin - 1 : begin]
    if before in ("?", "&") or text[start - 3 : start].upper() in ("%3D", "%3A"):
        cut = _CUT_QUERY
    elif before == ";" or _PAIR_FOLLOWS.match(text, start):
        cut = _CUT_PAIR
    else:
        cut = _CUT
    if text.startswith("**", start):  # bold
        start = min(start + 2, stop)
    end = cut.search(text, start, stop)
    if end:
        stop = end.start()
    while stop > start and text[stop - 1] in ".,;:)]}*|\\":
        stop -= 1
    return start, stop


def _identifier_start(text: str, at: int) -> int:
    begin, limit = at, max(0, at - 64)
    while begin > limit and text[begin - 1] in _IDENTIFIER:
        begin -= 1
    return begin


def _starts_line(text: str, begin: int) -> bool:
    """Return whether only indentation, marks and declarations precede the key on its line."""
    match = _LINE_START.match(text, _line_start(text, begin), begin)
    return match is not None and match.end() == begin


def _in_shell(text: str, begin: int, at: int) -> bool:
    """Return whether a shell reads the assignment: a blank ends its value."""
    if text[at - 1] != "=" or text[at - 2].isspace() or text[at : at + 1].isspace():
        return False
    start, stop = _line_start(text, begin), _line_stop(text, at)
    if _SHELL.search(text, start, begin):
        return True
    if not text[begin : at - 1].isupper() or text[start:begin].strip("> #`"):
        return False
    # an environment file needs no quotes around a phrase, but its lines are assignments
    above = max(start - 1, 0)
    beside = (text[_line_start(text, above) : above], text[stop + 1 : _line_stop(text, stop + 1)])
    return not any(_ENV_FILE.fullmatch(line.strip()) for line in beside)


def _line_start(text: str, at: int) -> int:
    low = max(0, at - 80)
    newline, escape = text.rfind("\n", low, at), text.rfind("\\n", low, at)
    return max(newline + 1, escape + 2 if escape >= 0 else low, low)


def _line_stop(text: str, at: int) -> int:
    stops = [stop for stop in (text.find("\n", at, at + 200), text.find("\\n", at, at + 200)) if stop >= 0]
    return min(stops, default=min(len(text), at + 200))
