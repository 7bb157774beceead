"""Secrets told by the name before them: ``key = value`` in code, configuration, command lines, tables and prose.

A search literal found some letters of a key word. The key must *end* in the word (``DB_PASSWORD``, ``clientSecret``,
``api-key``, but not ``password_hash``, ``token_type``, ``secretName``), a separator must follow, and the value after it
is read by the rules of its notation: quotes of any depth of escaping, a whole ``.env`` line, one pair of a connection
string, one parameter of a query. Only the value is reported, so quotes and names stay.
Whether the value is a secret is for :mod:`lamina_engine.ingest.secret_values` to say.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lamina_engine.ingest.secret_values import Form, KeyClass, looks_secret

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
    ("assp", 1, KeyClass.PASSPHRASE, r"passphrase"),
    ("secr", 0, KeyClass.SECRET, r"secret(?:[ _.-]?(?:access[ _.-]?)?key(?:[ _.-]?base)?)?"),
    ("toke", 0, KeyClass.TOKEN, r"token"),
    ("cred", 0, KeyClass.SECRET, r"credentials?"),
    ("mnem", 0, KeyClass.MNEMONIC, r"mnemonic"),
)
_SHORT = (
    ("pass", KeyClass.PASSWORD),
    ("pwd", KeyClass.PASSWORD),
    ("psk", KeyClass.PASSWORD),
    ("auth", KeyClass.TOKEN),
)
_COMPOUND = (
    (KeyClass.KEY, _KEY_NAMES, "key"),
    (KeyClass.MNEMONIC, "seed recovery backup wallet", "phrase"),
)

_AFTER = (
    r"(?P<close>\\{0,3}[\"'`])?[\])]?[*_`]{0,3}"
    r"(?:"
    # an annotation (password: str = "...") counts only before a quoted value: "password: abc=" ends in padding
    r"\s{0,3}:\s{0,3}[&'A-Za-z_][\w.]{0,40}(?:\[[\w\[\], .]{0,40}\])?(?:\s?\|\s?[\w.]{1,40}){0,3}"
    r"\s{0,3}(?P<annotated>=)(?=[ \t]{0,4}[a-z]{0,2}[\"'])"
    r"|\s{0,8}(?P<equals>=>|:=|\?=|\+=|=~|={1,3}|!={1,2})"
    r"|(?:[ \t]\[[^\]\n]{0,40}\])?\s{0,4}(?P<colon>::?|\uff1a)(?!//)"  # aws configure: Secret Access Key [None]:
    r"|(?P<call>\()(?=\\{0,3}[\"'])"
    r"|[ \t]{1,20}(?P<table>\|)(?=[ \t])"
    r"|(?P<xml>>)"
    r"|[ \t]{0,3}(?P<comma>,)(?=[ \t]*\\{0,3}[\"'`](?!value|default))"
    r"|(?:[,;]\s{0,40}|\s{1,40})(?:-[ \t])?\\{0,3}[\"']?(?:value|default)\\{0,3}[\"']?\s{0,4}(?P<named>[:=])"
    r"|[ \t]{1,4}(?:is|was|to)(?:[ \t]now|[ \t]set[ \t]to)?[ \t]?:?(?P<prose>)(?=[ \t])"
    r"|(?P<space>)(?=[ \t])"
    r")[*_]{0,2}"
)
_OPEN = re.compile(r"(?:[ \t]*\n)?[ \t]*(?:[brufL]{1,2}|[@$])?(?P<quote>\\{0,3}(?:\"\"\"|'''|[\"'`]))")
# bare keys have no more characters than these; expressions do
_TOKEN = re.compile(r"(?:\[redacted:[a-z0-9-]+\])?[A-Za-z0-9+/_.~:$!@%^*#-]*+(?:={1,2}(?![\w.$]))?")
_BLOCK_SCALAR = re.compile(r"[ \t]*[|>][+-]?[ \t]*\n[ \t]+(?=\S)")
_BARE = re.compile(r"[ \t]*(?P<value>[^\s\"'`<>]{1,1024})")
_XML = re.compile(r"\s{0,8}(?:<!\[CDATA\[)?(?P<value>[^<>\s]{1,512}?)\s{0,8}(?:\]\]>)?</")
_REST = re.compile(r"[ \t]*[\"'`]?,?[ \t]*(?:(?:#|//|--)[^\n]{0,400})?(?:\\?\r?\n|\\[nr]|\\?\"|\Z)")
_LEAD = re.compile(
    r"(?>[\s>*+#;/-]+|\d{1,3}[.)]\s|(?:export|set|setenv|ENV|ARG|env|local|readonly|declare|let|const|var|val|my|our"
    r"|static|final|private|public|String|string|str|auto)\s|\$env:|-[eDx]|[$@:{\"'`])*+"
)
_WALLET = re.compile(r"[ \t]*\\{0,3}[\"'`]?(?P<value>[a-z]{3,8}(?:[ \t]+[a-z]{3,8}){11,23})\b")
_LOGIN = re.compile(r"(?:^|\n|machine[ \t]+\S+\s+)[ \t]*login[ \t]+\S+\s+\Z")
_SETTER = re.compile(r"(?:set|with)_?\Z", re.IGNORECASE)
_NOT_TOKENS = re.compile(
    r"(?:page|pad|eos|bos|unk|sep|cls|mask|next|start|end|special|stop|continuation|image|cursor|max|min|num|design"
    r"|colou?r|public[_ -]?key)[_ -]?\Z",
    re.IGNORECASE,
)
_CUT_QUERY = re.compile(r"[&#]|\\[nrt\"]|%26")
_CUT_PAIR = re.compile(r";|\\[nrt\"]")
_CUT = re.compile(r"\\+[nrt\"']|[,&;](?=[\w.-]{1,40}[=:])|,\Z|\\+\Z")
_PAIR_FOLLOWS = re.compile(r"[^\s;]{0,1024};\s?(?:[A-Za-z][\w ]{0,40}=|\Z|[\"'])")


class Word(NamedTuple):
    """A key word: how to recognise it where one of its literals was found."""

    key: KeyClass
    regex: re.Pattern[str]
    """Matches from the word's first letter through the separator."""
    spoken: bool
    """Whether a string beside it may be its value without a sign between them: ``PASSWORD 'x'``, but not "pass `x=1`",
    where the word is a verb, nor "tiktoken `x`"."""
    first: str
    """The word's first letter, in lower case."""
    bounded: bool
    """Whether it must begin where a word begins: after no letter or digit, after an escape, or at a capital."""


class Value(NamedTuple):
    """Where a value stands, and how."""

    start: int
    stop: int
    form: Form


def _table() -> dict[str, list[tuple[int, Word]]]:
    table: dict[str, list[tuple[int, Word]]] = {}

    def add(literal: str, back: int, word: Word) -> None:
        table.setdefault(literal, []).append((back, word))

    def word(key: KeyClass, regex: str, *, spoken: bool = True, bounded: bool = False) -> Word:
        border = _BOUNDARY if bounded else ""
        compiled = re.compile(border + regex + _SUFFIX + _AFTER, re.IGNORECASE | re.ASCII)
        return Word(key, compiled, spoken, regex[0], bounded)

    for literal, back, key, regex in _PLAIN:
        add(literal, back, word(key, regex, spoken=key is not KeyClass.TOKEN))
    for name, key in _SHORT:
        short = word(key, name, spoken=False, bounded=True)
        # a space alone would stop at every "south " and "class "
        for follower in (*"=:\"'`],>|\\\t\n", " =", " :", " |", "  "):
            add((name + follower)[-4:], len(name + follower) - 4, short)
        add(f"-{name}"[:4], -1, short)
    short = word(KeyClass.PASSWORD, r"pw")
    for lead in " _-\n\"'":
        for follower in "=:":
            add(f"{lead}pw{follower}", -1, short)
    for key, names, last in _COMPOUND:
        for name in names.split():
            compound = word(key, rf"{name}[ _.-]?{last}", bounded=True)
            for gap in ("_", "-", " ", ".", ""):
                add((name[-1:] + gap + last)[:4], len(name) - 1, compound)
    return table


WORDS = _table()
"""Search literal to the words it may belong to, each with the characters from the word's start to the literal."""

_ENDS = tuple(
    (key, re.compile(rf"{regex}s?{_SUFFIX}\Z", re.IGNORECASE | re.ASCII))
    for key, regex in (
        *((key, regex) for _, _, key, regex in _PLAIN),
        *((key, _BOUNDARY + name) for name, key in _SHORT),
        *((key, rf"{_BOUNDARY}(?:{names.replace(' ', '|')})[ _.-]?{last}") for key, names, last in _COMPOUND),
    )
)


def key_class(name: str) -> KeyClass | None:
    """What a field name promises (``db_password``, ``apiKey``, ``tokens``), or None where it promises nothing."""
    if len(name) > 128:
        return None
    for key, regex in _ENDS:
        match = regex.search(name)
        if match and not (key is KeyClass.TOKEN and _NOT_TOKENS.search(name, 0, match.start())):
            return key
    return None


def find_assignment(text: str, at: int, word: Word) -> tuple[int, int, str] | None:
    """The secret assigned to a key whose word may start at ``at``.

    Parameters
    ----------
    text : str
        The whole text.
    at : int
        Character offset of the key word's first letter.
    word : Word
        From :data:`WORDS`.

    Returns
    -------
    (start, stop, kind) or None
        Offsets of the value, without quotes.

    Notes
    -----
    Looks at most some 5,000 characters ahead and 100 back, so a text full of key words costs time linear in it.
    """
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
    if word.key is KeyClass.PASSPHRASE and value.form is not Form.QUOTED and _leads(text, begin):
        value = Value(value.start, _line_stop(text, value.stop), Form.LINE)
    if not looks_secret(word.key, text[value.start : value.stop], value.form):
        return None
    kind = KeyClass.PASSWORD if word.key is KeyClass.PASSPHRASE else word.key
    return value.start, value.stop, kind.value


def _value(text: str, begin: int, match: re.Match[str], word: Word) -> Value | None:
    """Read the value behind a separator; None where there is none of a known notation."""
    separator, at = match.lastgroup, match.end()
    if separator == "call" and not _SETTER.search(text, max(0, begin - 1), match.start()):
        return None
    if separator == "xml":
        element = _XML.match(text, at) if match["close"] or text[begin - 1 : begin] in ("<", ":") else None
        return Value(element.start("value"), element.end("value"), Form.LINE) if element else None
    block = _BLOCK_SCALAR.match(text, at) if separator == "colon" else None
    if block:
        at = block.end()
    opening = None if separator == "table" else _OPEN.match(text, at)
    if opening:
        quoted = _quoted(text, opening)
        if quoted and separator == "comma" and not match["close"]:
            return None
        if quoted:
            if separator in ("space", "comma", "prose") and text[begin] != "-":
                spoken = separator != "space" or word.spoken or text[begin : match.start() + 4].isupper()
                return quoted._replace(form=Form.INLINE) if spoken else None
            return quoted
        at = opening.end()
    if separator == "space":
        return _after_space(text, begin, at)
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


def _after_space(text: str, begin: int, at: int) -> Value | None:
    """``--password X``, ``-Password X`` and the ``login X password Y`` of a .netrc; other words are prose."""
    bare = _BARE.match(text, at)
    if bare is None or bare["value"][0] in "{[(":
        return None
    start, stop = _trim(text, bare.start("value"), bare.end("value"), begin)
    if _LOGIN.search(text, max(0, begin - 120), begin):
        return Value(start, stop, Form.QUOTED)
    if text[begin] == "-" and text[start : start + 1] not in ("-", "|", ""):
        return Value(start, stop, Form.LINE)
    return None


def _bare(text: str, begin: int, at: int, separator: str, *, whole: bool) -> Value | None:
    bare = _BARE.match(text, at)
    if bare is None:
        return None
    start, stop = bare.span("value")
    alone = separator in ("equals", "colon", "named") and _leads(text, begin) and _REST.match(text, stop) is not None
    if alone and whole and separator == "equals" and text[stop - 1] not in ",;)]}" and "\\" not in text[start:stop]:
        # a line of an environment file: everything up to the line's end is the value
        return Value(start, stop, Form.LINE)
    start, stop = _trim(text, start, stop, begin)
    form = Form.LINE if alone and _REST.match(text, stop) else Form.INLINE
    if text.startswith("(", stop) or start >= stop:
        return None
    return Value(start, stop, form)


def _trim(text: str, start: int, stop: int, begin: int) -> tuple[int, int]:
    """Cut a bare value where its notation ends it: the next parameter, the next pair, closing punctuation."""
    before = text[begin - 1 : begin]
    if before in ("?", "&"):
        cut = _CUT_QUERY
    elif before == ";" or _PAIR_FOLLOWS.match(text, start):
        cut = _CUT_PAIR
    else:
        cut = _CUT
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


def _leads(text: str, begin: int) -> bool:
    """Whether only indentation, list marks, comment marks and declaring words stand before the key on its line."""
    low = max(0, begin - 80)
    newline, escape = text.rfind("\n", low, begin), text.rfind("\\n", low, begin)
    start = max(newline + 1, escape + 2 if escape >= 0 else low, low)
    match = _LEAD.match(text, start, begin)
    return match is not None and match.end() == begin


def _line_stop(text: str, at: int) -> int:
    stops = [stop for stop in (text.find("\n", at, at + 200), text.find("\\n", at, at + 200)) if stop >= 0]
    return min(stops, default=min(len(text), at + 200))
