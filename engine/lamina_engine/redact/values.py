"""Classifier of assigned values: secrets, placeholders, references, words, plain data.

The rule, from the surest to the weakest sign:

1. Never: empty values, references (``os.environ[...]``, ``${X}``, ``{{ x }}``, ``process.env.X``, a dotted name, a
   call, a path, ``op://``), placeholders (``<your-key>``, ``your_api_key_here``, ``xxxx``, ``****``, ``changeme``,
   ``none``), names of types and algorithms (``uint256``, ``sha256``), dates, versions, plain numbers with a unit.
2. ``random`` values (letters mixed with digits or symbols so that they are no words): under every secret key, wherever
   they stand.
3. Passwords people choose are weaker evidence, so where they stand counts. In quotes under a password key nearly
   every literal is masked; alone on a line it needs a digit or a symbol (``password: hunter2``); inside prose it
   needs letters and digits together, or a strong symbol; told without a sign or verb (``password X``) it must mix them
   as no word, name of code or product does. Several words are one only in quotes, and only if no prompt or rule is
   written so.
4. Words never are secrets under token and key names (``token: kebab-case``, ``secret: keep-it-simple``).
"""

from __future__ import annotations

import re
from enum import Enum


class KeyClass(Enum):
    """Class of secret that a key name announces."""

    PASSWORD = "password"
    PASSPHRASE = "passphrase"
    SECRET = "secret"
    KEY = "api-key"
    TOKEN = "token"
    MNEMONIC = "mnemonic"


class Form(Enum):
    """Notation of a value."""

    QUOTED = "quoted"
    LINE = "line"
    """Bare, nothing else on its line."""
    INLINE = "inline"
    """Bare, inside a sentence or an expression."""
    NEXT = "next"
    """Bare, right behind its name, with no sign or verb between: ``password X``."""


MASK = re.compile(r"\[redacted:[a-z0-9-]+\]")
"""Mask of a secret that was removed."""

_FILLER = re.compile(
    r"(?>(?:my|the|a|an|some|user|db|new|old|current|your|admin|root|api|auth|access|client|super|reset|forgot|confirm"
    r"|repeat|update|change|set|get|login|database|is|hidden|input|field|form|label|text|value|string|confirmation)?"
    r"[ _.-]?(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret|token|key|credentials?)s?[ _.-]?"
    r"(?:field|input|value|here|confirmation|confirm|hash|reset|key|name|string|text|label|form|rules?)?)++",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:^|[^A-Za-z0-9])(?:your|yours|example|sample|dummy|fake|placeholder|redacted|hidden|change|changeme|changeit"
    r"|insert|enter|todo|fixme|tbd|replace|here|masked|removed|omitted|snip|foobar)(?:$|[^A-Za-z0-9])"
    r"|^(?:your|insert|enter|replace|put|paste|example|placeholder|change_?me)[A-Z_-]?"
    r"|\*{3,}|\.{3,}|\u2026|\u2022{2,}|^[xX0._#?*-]+$|(?:^|[^A-Za-z0-9])[xX]{3,}(?:$|[^A-Za-z0-9])"
)
_SCHEMA_WORDS = frozenset(
    {"string", "text", "varchar", "char", "number", "integer", "boolean", "bool", "bytes", "byte", "object",
     "array", "any", "none", "null", "nil", "undefined", "true", "false", "required", "optional", "nullable",
     "hidden", "disabled", "enabled", "default", "secret", "password", "passwd", "token", "token_id", "basic",
     "bearer", "oauth", "digest", "negotiate", "plain", "plaintext", "encrypted", "hashed", "unknown", "empty",
     "blank", "invalid", "missing", "expired", "prompt", "always", "never", "manual", "auto", "static",
     "dynamic", "ignore", "ignored", "masked", "write", "read", "readonly", "writeonly", "test", "changeme",
     "changeit", "sensitive", "private", "public", "protected", "internal", "external", "textfield",
     "passwordfield"}
)  # fmt: skip
_REFERENCE = re.compile(
    r"\$(?:[A-Za-z_]\w*\Z|\{.*|\(.*|\d\Z)|%[A-Za-z_]\w*%\Z|%\(\w*\)?s?\Z|%[sdrv]\Z|@[A-Za-z_]+@\Z"
    r"|\{.*\}\Z|<.*>\Z|\[[A-Za-z_ ]*\]\Z|ENC\["
    r"|(?:op|vault|ssm|secret|secretsmanager|aws-sm|gcp-sm|keyring|env|file|https?)://"
    r"|(?:env|vault|ssm|file|keyring|arn|urn|sha\d+|md5|ref\+\w+|secretKeyRef):|data:\w+/"
    r"|(?:os|process|import|env|ENV|secrets|vars|var|local|module|config|settings|self|this)(?:\.|\[|::|->)[\w.\[\]()'\"]+\Z"
)
_PATH = re.compile(r"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.@-]+(?:[/\\]|\.\w{1,8}\Z|\Z)")
_CODE_REFERENCE = re.compile(  # only where no quotes say that the text is a literal
    r"!(?:Ref|Sub|GetAtt|ImportValue|vault|env|include|secret|reference)\b|[&*][A-Za-z_]+\Z|[<\[({]|%\("
    r"|-{1,2}[a-z]+(?:-[a-z]+)*\Z"
    r"|(?:params|args|opts|options|request|req|ctx|props|state|form|cfg|conf)\."
    r"|[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*(?:\(|\[|\?\.|!\.)"
)
_EMBEDDED_REFERENCE = re.compile(
    r"%[sd](?![A-Za-z0-9])|a-zA-Z|A-Za-z|A-Z0-9|\[a-z|\[A-Z|0-9\]|\(\?[:=!<]|\$\{|\$\(|\{\{|#\{|<%|%\{|\{[A-Za-z_][\w.]*\}"
)
_DOTTED_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)+\Z")
_CAMEL_NAME = re.compile(r"[A-Za-z][a-z]{2,}\d{0,2}(?:[A-Z][a-z]{3,}\d{0,2})+\Z")
_NAMED_TYPE = re.compile(
    r"(?:u?int|float|bytes|[uif]|utf|sha|md|aes|hmac|[rhep]s|base|oauth|argon|pbkdf|ed|ecdsa|rsa|scram|b|x|v|tls|ssl"
    r"|http|ipv|web|log|p|k|s|level|step|part|line|col|row|page|sqlite|neo|mp|win|log|ntlmv)[_-]?\d{1,5}"
    r"(?:[_-]?[A-Za-z]{0,10}){0,2}\Z",
    re.IGNORECASE,
)
_PLAIN_DATA = re.compile(
    r"\$(?:2[abxy]?|[156y]|argon2\w*|pbkdf2[\w-]*|scrypt)\$|\{(?:SSHA|SHA|CRYPT)\d*\}"  # hashes of passwords
    r"|pbkdf2_sha\d+\$"
    r"|\d{4}-\d{2}-\d{2}(?:[T ][\d:.+Z-]*)?\Z"  # dates
    r"|v?\d+(?:\.\d+)+(?:[-+.]?[a-z]+[.-]?\d*)?\Z"  # versions, addresses
    r"|[+-]?\d+(?:\.\d+)?\s?(?:[a-zA-Z%]{1,7})?\Z"  # numbers with a unit
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+\Z"  # mail addresses
    r"|\d+(?:[-x:/]\d+)+\Z"  # ranges, sizes, times
    r"|(?:application|audio|font|image|message|model|multipart|text|video)/[\w.+-]+(?:;.*)?\Z"  # media types
)
_STRONG = re.compile(r"[!@#$%^&*+=?~|]")
_SEPARATORS = re.compile(r"[-_./: @]+")
_WORDS = re.compile(r"[-_./: @]*+(?:(?:[A-Za-z]++\d{0,4}+|\d{1,4}+)(?:[-_./: @]++|\Z))*+\Z")
_LONG_WORD = re.compile(r"[A-Za-z]{12,}")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LETTER = re.compile(r"[^\W\d_]")
_NUMBER = re.compile(r"\d+")
_DIGIT = re.compile(r"\d")
_CHOSEN = re.compile(r"[A-Za-z]+(?:[._][A-Za-z]+)*[._](?P<last>[A-Za-z]+\d{3,})\Z")
"""A password of words and a number: a name of code has no long number at its end, unless it is an algorithm's."""
_NAME = re.compile(
    r"(?:(?:(?:\A|(?<=[-_.:]))[a-z]++|[A-Z]++[a-z]*+)\d{0,4}+|(?:\A|(?<=[-_.:]))\d{1,4}+[a-z]?|[-_.:])++\Z"
)
_NAME_WORD = re.compile(r"(?<!\d)[a-z]+|[A-Z]+[a-z]*")
_HEX = re.compile(r"[0-9a-f]+")
_INNER_SIGN = re.compile(r"[A-Za-z][!#%^~][A-Za-z]")
_EXPRESSION = re.compile(r"[\\(\[{<=|/]")
_APP_PASSWORD = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}")
_STOP = frozenset(
    {"the", "a", "an", "for", "to", "is", "of", "in", "on", "and", "or", "be", "must", "you", "your", "no",
     "not", "if", "with", "it", "leave", "empty", "when", "at", "from"}
)  # fmt: skip

_LABEL = frozenset(
    {"password", "passwords", "passwort", "passphrase", "kennwort", "pass", "login", "user", "username", "account", "email",
     "enter", "type", "choose", "use", "set", "change", "confirm", "repeat", "reset", "forgot", "forgotten", "show", "hide",
     "new", "old", "current", "wrong", "invalid", "incorrect", "missing", "required", "optional", "error", "failed", "please",
     "sign", "log", "minimum", "maximum", "min", "max", "least", "most", "length", "long", "short", "too", "weak", "strong",
     "chars", "characters", "letters", "digits", "symbols", "field", "value", "text", "string", "default", "any", "has",
     "have", "can", "cannot", "will", "should", "was", "are", "this", "that", "its", "their", "by", "as", "only", "bitte",
     "neues", "altes", "eingeben", "wiederholen", "das", "der", "die", "ein", "eine", "ist", "und", "oder", "mit", "nicht"}
)  # fmt: skip
"""Words of prompts, labels and rules about passwords; a phrase that holds one is no password."""


def looks_secret(key: KeyClass, value: str, form: Form) -> bool:
    """Return whether a value under a key of this class is to be masked, by the module's rule."""
    value = MASK.sub("", value).strip()
    if len(value) < 4 or is_placeholder(value):
        return False
    if is_reference(value, form) and not (key is KeyClass.PASSWORD and _is_chosen(value)):
        return False
    if " " in value or key is KeyClass.MNEMONIC:
        return _phrase(key, value, form)
    if _NAMED_TYPE.match(value) and len(value) < 16:
        return False
    if key in (KeyClass.PASSWORD, KeyClass.PASSPHRASE):
        return _password(value, form)
    if is_random(value):
        return True
    return key is KeyClass.SECRET and form is Form.QUOTED and _quoted_secret(value)


def _is_chosen(value: str) -> bool:
    found = _CHOSEN.match(value)
    return found is not None and _NAMED_TYPE.match(found["last"]) is None


def is_placeholder(value: str) -> bool:
    """Return whether a value only marks a secret's place: ``<key>``, ``xxxx``, ``changeme``."""
    return (
        value.lower() in _SCHEMA_WORDS
        or (len(value) < 80 and _FILLER.fullmatch(value) is not None)
        or (len(value) < 200 and _PLACEHOLDER.search(value) is not None)
        or (len(value) >= 4 and len(set(value)) == 1 and value[0] in "xX*.0-_#?")
    )


def is_reference(value: str, form: Form = Form.QUOTED) -> bool:
    """Return whether a value refers to a secret kept elsewhere, or is an expression."""
    if _REFERENCE.match(value) or _EMBEDDED_REFERENCE.search(value):
        return True
    if _PATH.match(value) and (value[0] != "/" or _wordy(value.strip("/"))):  # base64 may begin with a slash
        return True
    if form is Form.QUOTED:
        return False
    if _CODE_REFERENCE.match(value):
        return True
    # a name of words with a number or two in them: ed25519.Ed25519PrivateKey, Socks5Auth
    name = _DOTTED_NAME.match(value) or _CAMEL_NAME.match(value)
    return name is not None and len(_NUMBER.findall(value)) <= 2 and _wordy(_NUMBER.sub("", value))


def is_random(value: str) -> bool:
    """Return whether letters and digits mix as in no word, name, date or version.

    At least 8 characters, no spaces, letters and digits (or 16 letters with few vowels), and not made of words with a
    short number each (``token-v2``, ``utf8_decode3``, ``keep-it-simple-2024``).
    """
    if (
        len(value) < 8
        or " " in value
        or not value.isascii()
        or _LETTER.search(value) is None
        or _PLAIN_DATA.match(value)
    ):
        return False
    if _DIGIT.search(value) is None and len(value) < 16:
        return False
    return not _wordy(value)


def _wordy(value: str) -> bool:
    """Return whether a value is made of words and short numbers."""
    return _WORDS.match(value) is not None and not any(map(_unreadable, _LONG_WORD.findall(value)))


def _unreadable(letters: str) -> bool:
    """Return whether twelve or more letters are no words.

    In four letters English has nearly two vowels, random ones have one; the words in a camelCase name have some five
    letters, the runs between random capitals two.
    """
    return len(_VOWEL.findall(letters)) < 0.25 * len(letters) or len(_CAMEL.findall(letters)) * 3 > len(letters)


def _password(value: str, form: Form) -> bool:
    letters, digits = _LETTER.search(value) is not None, _DIGIT.search(value) is not None
    strong = _STRONG.search(value) is not None
    if form is Form.NEXT:
        return _is_mixed(value)
    if value.isdigit():
        return form is not Form.INLINE and len(value) >= (4 if form is Form.QUOTED else 6)
    if _PLAIN_DATA.match(value):
        # a number with a unit ("8chars") is prose unless quotes say that it is a literal
        return form is Form.QUOTED and letters and digits and value.isalnum() and len(value) >= 6
    if form is Form.INLINE:
        # "wrong!" is prose, "wrong!one" is none
        return letters and (digits or _STRONG.search(value.rstrip("!?=&@\\")) is not None) and len(value) >= 6
    if letters and (digits or strong):
        return len(value) >= 5
    if len(value) >= 8 and len(_CAMEL.findall(value)) * 3 > sum(map(str.isalpha, value)):
        return True  # "zUM-sgzW": capitals where no word has them
    if form is Form.LINE:
        return len(value) >= 16 and value.count("-") >= 3
    return value.islower() and len(value) >= (6 if value.isalpha() else 8)


def _is_mixed(value: str) -> bool:
    """Return whether a value mixes letters, digits and signs as no word or name does."""
    if _EXPRESSION.search(value) or _is_name(value):
        return False
    if value.lower() != value and value.upper() != value:
        return len(value) >= 8 and (is_random(value) or _INNER_SIGN.search(value) is not None)
    # in small letters, only a mix that is no digest
    return is_random(value) and value.isalnum() and len(_NUMBER.findall(value)) >= 3 and not _HEX.fullmatch(value)


def _is_name(value: str) -> bool:
    """Return whether capitals begin readable words: ``OAuth2PasswordBearer``."""
    words = _NAME_WORD.findall(value)
    return _NAME.match(value) is not None and sum(map(len, words)) >= 3 * len(words)


def _quoted_secret(value: str) -> bool:
    """Judge a quoted literal named "secret": weaker than random, stronger than a word."""
    if _PLAIN_DATA.match(value):
        return False
    if len(value) < 8 or _SEPARATORS.search(value):
        return False
    mixed = _DIGIT.search(value) is not None and _LETTER.search(value) is not None
    return mixed or _STRONG.search(value) is not None or len(value) >= 20


def _phrase(key: KeyClass, value: str, form: Form) -> bool:
    words = value.split()
    if key is KeyClass.MNEMONIC:
        return len(words) >= 12 and all(word.isalpha() and word.islower() for word in words[:12])
    several = len(words) >= 3 and key is KeyClass.PASSPHRASE and form in (Form.QUOTED, Form.LINE)
    several = several or (len(words) >= 4 and key is KeyClass.PASSWORD and form is Form.QUOTED)
    if several and len(words) <= 12 and len(value) >= 12 and _is_passphrase(words, form):
        return True
    if key in (KeyClass.PASSWORD, KeyClass.PASSPHRASE) and form is Form.QUOTED and len(words) <= 4:
        if _APP_PASSWORD.fullmatch(value) and not any(word in _STOP for word in words):  # as Google gives them
            return True
        return any(
            len(w) >= 4 and _DIGIT.search(w) and _LETTER.search(w) and not _NAMED_TYPE.match(w) for w in words
        ) and not any(w.lower() in _STOP for w in words)
    return False


def _is_passphrase(words: list[str], form: Form) -> bool:
    """Return whether these are words for their own sake, and no sentence or label."""
    letters = [word for word in words if word.isalpha()]
    if any(word.lower() in _STOP or word.lower() in _LABEL for word in words) or len(letters) < 2:
        return False
    if form is not Form.QUOTED:
        return len(letters) == len(words) and all(map(str.islower, words))
    if not all(word.isalpha() or word.isdigit() for word in words):
        return False
    return all(map(str.islower, letters)) or all(map(str.istitle, letters))
