"""Assignments of secrets: ``key = value`` in code, configuration, tables and prose.

The key must *end* in a key word (``DB_PASSWORD``, ``clientSecret``, ``api-key``, but not ``password_hash``, ``token_type``,
``secretName``), a separator must follow, and the value is read by the rules of its notation: quotes of any depth of
escaping, a whole ``.env`` line, one pair of a connection string, one parameter of a query. Only the value is reported, so
quotes and names stay; `values` decides whether it is a secret. Right behind the name, as in ``password X``, it must look
like a password by itself, or an account must stand before it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase, digits
from typing import NamedTuple

from lamina_engine import after_fork
from lamina_engine.redact.values import MASK, Form, KeyClass, is_random, looks_secret

Span = tuple[int, int, str]

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
_WORLD = tuple(
    "hasło parolă contraseña palavra-passe lösenord şifre доступа пароль 密码 密碼 口令 パスワード 비밀번호".split()  # noqa: SIM905
)
"""Words for a password in other languages, nearly all with letters beyond ASCII; `world_places` finds them."""
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
_OPEN = re.compile(r"(?:[ \t]*\r?\n)?[ \t]*(?:[brufL]{1,2}|[@$])?(?P<quote>\\{0,3}(?:\"\"\"|'''|[\"'`]))")
# bare keys have no more characters than these; expressions do
_TOKEN = re.compile(r"(?:\[redacted:[a-z0-9-]+\])?[A-Za-z0-9+/_.~:$!@%^*#-]*+(?:={1,2}(?![\w.$]))?")
_DASH = re.compile(r"[ \t]*(?:(?:[-\u2013\u2014]{1,2}>?|\u2192)(?=[ \t])|\()")
ACCOUNT = re.compile(
    r"(?:user(?:[ _-]?name)?|account|benutzer(?:in|name|konto)?|nutzer(?:name)?|konto|e-?mail"
    r"|(?:log|sign)(?:ged|ed)?[ -]?(?:in|on)|angemeldet)"
    r"(?:[ \t]{0,2}[:=][ \t]{0,2}|[ \t]{1,2})(?:(?:is|ist|as|als)[ \t])?[\"'`]?"
    r"(?!(?:anonymous|page|form|screen|name|field|and|or|with|via|enters?)\b)[\w.@+-]{2,64}[\"'`]?"
    r"[ \t]{0,2}[,;/|&+]?[ \t]{0,2}(?:(?:and|und|with|mit|the|dem|das|his|her|its)[ \t]){0,2}\Z",
    re.IGNORECASE,
)
"""Who logs in, said just before the password."""
_LOGIN = re.compile(
    r"(?:user|login|account|host|server|mail|smtp|imap|ldap|proxy|database|auth|benutzer|konto|credentials)[\w.-]{0,20}"
    r"[\"'`]?[ \t]{0,3}(?:[:=({]|=>)",
    re.IGNORECASE,
)
"""Name of a user, or of where a user logs in, with a value."""
_BELOW = re.compile(r"[ \t]*(?:\r?\n[ \t>]*){1,2}(?:`{3}[a-z]{0,10}\r?\n[ \t>]*)?`?(?=[^\s`])")
"""The line ends behind the name: the sentence is wrapped there, or the password stands alone below, in a fence or not."""
_BLOCK_SCALAR = re.compile(r"[ \t]*[|>][+-]?[ \t]*\r?\n[ \t]+(?=\S)")
_BARE = re.compile(r"[ \t]*(?P<value>[^\s\"'`<>]{1,1024})")
_XML = re.compile(r"\s{0,8}(?:<!\[CDATA\[)?(?P<value>[^<>\s]{1,512}?)\s{0,8}(?:\]\]>)?</")
_REST = re.compile(r"[ \t]*[\"'`]?,?[ \t]*(?:(?:#|//|--)[^\n]{0,400})?(?:\\?\r?\n|\\[nr]|\\?\"|\Z)")
_LINE_START = re.compile(
    r"(?>[\s>*+#;/-]+|\d{1,3}[.)]\s|(?:export|set|setenv|ENV|ARG|env|local|readonly|declare|let|const|var|val|my|our"
    r"|static|final|private|public|String|string|str|auto)\s|\$env:|-[eDx]|[$@:{\"'`])*+"
)
_SHELL = re.compile(r"(?:\$|\b(?:export|env|local|readonly|declare))\s")
_DOCKER = re.compile(r"[ \t]*(?:ENV|ARG)[ \t]+\Z")
_PHRASE = re.compile(r"[a-z]{2,12}(?: [a-z]{2,12}){2,11}[ \t]*(?:\r?\n|\Z)")
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
    if value is None or (word.lead == "pass" and begin == at and _is_verdict(text, match, value)):
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


def _is_verdict(text: str, match: re.Match[str], value: Value) -> bool:
    """Return whether ``pass: "tested"`` tells of a test or a pass over something.

    The value is a word, and no account or server is near.
    """
    word = text[value.start : value.stop]
    return (
        match.lastgroup == "colon"
        and word.isalpha()
        and not is_random(word)
        and _LOGIN.search(text, max(0, match.start() - 160), value.stop + 160) is None
    )


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
    start, stop = trim_value(text, bare.start("value"), bare.end("value"), begin)
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
        account = ACCOUNT.search(text, max(0, begin - 120), begin)
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
    return Value(*trim_value(text, bare.start("value"), bare.end("value"), begin), Form.NEXT)


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
    start, stop = trim_value(text, start, stop, begin)
    form = Form.LINE if alone and _REST.match(text, stop) else Form.INLINE
    if text.startswith("(", stop) or start >= stop:
        return None
    return Value(start, stop, form)


def trim_value(text: str, start: int, stop: int, begin: int) -> tuple[int, int]:
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
    stops = [stop for end in ("\r\n", "\n", "\\n") if (stop := text.find(end, at, at + 200)) >= 0]
    return min(stops, default=min(len(text), at + 200))
