"""``vault.toml``: settings that people may edit; it can name neither endpoints nor keys."""

from __future__ import annotations

import contextlib
import copy
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from lamina_engine.arguments import is_unicode
from lamina_engine.clock import zone
from lamina_engine.errors import InvalidArgument, InvalidConfig
from lamina_engine.real_files import read_file

FILE = "vault.toml"
MOST_BYTES = 1 << 20
EMBEDDERS = ("wordllama", "wordllama-128", "wordllama-64", "minilm", "none")
"""Models that a vault may ask for by name: all of them run on this machine, from installed packages."""


class Embedding(Struct, frozen=True, forbid_unknown_fields=True):
    """``[embedding]``"""

    model: str = "wordllama"
    """A name of `EMBEDDERS`, or ``custom`` where the caller must bring the embedder."""
    shares: dict[str, Annotated[float, Meta(ge=0.0, le=1.0)]] = {}
    """``[embedding.shares]``: share of the vector lane by the identity of a model; see ``lamina eval --tune``."""


class FactsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """``[facts]``"""

    identity: str = ""
    """The agent, by name or id: whom "you" means in questions, and "I" too where no user is named; none if empty."""
    user: str = ""
    """The person whose agent it is: whom "I" and "my" mean in questions."""
    intents: dict[str, dict[str, list[str]]] = {}
    """``[facts.intents.<name>]`` with triggers, predicates and inverse; see `lamina_engine.facts.intents`."""

    @property
    def speaker(self) -> str | None:
        """Entity that "I" means: the user, else the agent."""
        return self.user or self.identity or None


class SessionsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """``[sessions]``: see `lamina_engine.sessions.reading.SessionOptions`."""

    thinking: bool = False
    """Keep what agents thought, in the metadata of a chunk."""
    max_tokens: int = 4_096
    min_tokens: int = 64


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """All of ``vault.toml``."""

    name: str = ""
    tz: str = "UTC"
    """Zone in which naive dates are read."""
    profile: str = "default"
    """Profile of a recall that names none."""
    embedding: Embedding = Embedding()
    facts: FactsConfig = FactsConfig()
    sessions: SessionsConfig = SessionsConfig()
    profiles: dict[str, dict[str, Any]] = {}
    """See `lamina_engine.profiles.Profiles`."""
    settings: dict[str, Any] = {}
    """``[settings]``: see `lamina_engine.settings`."""


msgspec.json.Decoder(
    Config
)  # on import: two threads that are the first to ask for a kind of struct crash the process (msgspec 0.22)


def load(root: Path) -> Config:
    """Read a vault's configuration; defaults where there is no file."""
    path = root / FILE
    try:
        content = read_file(path, MOST_BYTES)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise InvalidConfig(f"{path} cannot be read: {error}; it takes the settings of a vault, some lines") from error
    try:
        config = msgspec.convert(tomllib.loads(content.decode()), Config)
    except (ValueError, RecursionError) as error:  # also of a number with thousands of digits
        raise InvalidConfig(
            f"{path}: {error}; keys are name, tz, profile, [embedding] model, shares, [facts] identity, [facts.intents.<name>], "
            "[sessions] thinking, max_tokens, min_tokens, [profiles.<name>], [settings]"
        ) from error
    try:
        zone(config.tz)
    except InvalidArgument as error:
        raise InvalidConfig(f"{path}: {error}") from error
    if config.embedding.model not in (*EMBEDDERS, "custom"):
        raise InvalidConfig(
            f"{path}: embedding model {config.embedding.model!r} is not one of {', '.join(EMBEDDERS)}, custom; "
            "an endpoint is configured by the user who opens the vault, never in the vault"
        )
    return config


def initial_text(name: str, model: str, tz: str) -> str:
    """Return the text of a new vault's ``vault.toml``."""
    return (
        f"name = {_quoted(name)}\n"
        f"tz = {_quoted(tz)}            # zone in which naive dates are read\n"
        'profile = "default"    # used where a recall names none\n\n'
        f"[embedding]\nmodel = {_quoted(model)}\n\n"
        '# [profiles.mine]\n# base = "temporal"\n# decay.semantic_weight = 0.8\n'
        "# decay.type_half_life_days = { decision = 365 }   # merged with the map of the base\n\n"
        "# [settings]           # weaker than .env, the environment and arguments\n# injection_budget_ceiling = 1200\n"
    )


def set_model(text: str, model: str) -> str:
    """Return the text of a ``vault.toml`` with another embedding model, the rest unchanged."""
    return _set_value(text, ("embedding",), "model", _quoted(model))


def set_share(text: str, identity: str, share: float) -> str:
    """Return the text of a ``vault.toml`` with another vector share of a model."""
    return _set_value(text, ("embedding", "shares"), identity, repr(share))


def _set_value(text: str, table: tuple[str, ...], key: str, value: str) -> str:
    """Return a TOML text with another value of a table's key, the rest unchanged."""
    before = tomllib.loads(text)
    wanted = copy.deepcopy(before)
    inner = wanted
    for name in table:
        inner = inner.setdefault(name, {})
    inner[key] = tomllib.loads(f"value = {value}")["value"]
    if before == wanted:
        return text
    name = key if _BARE.fullmatch(key) else _quoted(key)
    for changed in _with_value(text.splitlines(keepends=True), table, name, value):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(changed) == wanted:
                return changed
    header = ".".join(table)
    raise InvalidConfig(
        f"{key} of [{header}] in {FILE} cannot be changed by its line alone; write [{header}] and, below, {name} = {value}"
    )


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_OLD = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\d.]+)"""


def _with_value(lines: list[str], table: tuple[str, ...], name: str, value: str) -> Iterator[str]:
    """Yield candidate texts with the value in the key's line, or in a new one."""
    old = re.compile(rf"(.*?(?<![\w-]){re.escape(name)}[ \t]*=[ \t]*){_OLD}")
    header = re.compile(r"[ \t]*\[[ \t]*" + r"[ \t]*\.[ \t]*".join(table) + r"[ \t]*\]")
    for i, line in enumerate(lines):
        found = old.match(line)
        if found:
            yield "".join([*lines[:i], found[1], value, line[found.end() :], *lines[i + 1 :]])
    for i, line in enumerate(lines):
        if header.match(line):
            yield "".join([*lines[:i], line.rstrip("\n"), f"\n{name} = {value}\n", *lines[i + 1 :]])
    end = "" if not lines or lines[-1].endswith(chr(10)) else chr(10)
    yield "".join([*lines, f"{end}\n[{'.'.join(table)}]\n{name} = {value}\n"])


def _quoted(text: str) -> str:
    if not is_unicode(text):  # the name of a folder may be no text, and no index can be opened there
        raise InvalidArgument(f"{text!a} is not valid Unicode; give the folder of the vault another name")
    return msgspec.json.encode(text).decode()  # a JSON string is a TOML basic string
