"""Tools and their parameters: a JSON Schema for clients, and the check of what they send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""A value of JSON."""
Kind: TypeAlias = Literal["string", "integer", "number", "boolean", "object", "array"]
Effect: TypeAlias = Literal["read", "write", "update", "destroy"]

_SHOWN: Final = 80
_NAMES: Final = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "object": "an object", "array": "a list of texts",
}  # fmt: skip


class WrongArguments(ValueError):
    """Arguments that a tool does not take; the message says what is allowed, with an example."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool."""

    kind: Kind
    description: str
    default: JSON = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    required: bool = False

    def to_schema(self, *, brief: bool = False) -> dict[str, JSON]:
        """Return its JSON Schema; a brief one leaves the default out."""
        schema: dict[str, JSON] = {"type": self.kind}
        allowed: dict[str, JSON] = {"enum": list(self.choices)} if self.choices else {}
        schema |= {"items": {"type": "string", **allowed}} if self.kind == "array" else allowed
        if self.default is not None and not brief:
            schema["default"] = self.default
        if self.description:
            schema["description"] = self.description
        return schema

    def read(self, name: str, value: Any) -> Any:
        """Return a value as this parameter takes it; models send numbers and lists as text."""
        if self.kind == "array" and isinstance(value, str):
            value = _decoded(value) if value.lstrip().startswith("[") else [value]
        elif self.kind not in ("string", "array") and isinstance(value, str):
            value = _decoded(value)
        elif self.kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        if not self._fits(value):
            raise WrongArguments(f"{name}={_shown(value)} is not {self._allowed()}")
        return value

    def _fits(self, value: Any) -> bool:
        if isinstance(value, bool):
            return self.kind == "boolean"
        match self.kind:
            case "string":
                return isinstance(value, str) and (not self.choices or value in self.choices)
            case "array":
                return isinstance(value, list) and all(
                    isinstance(each, str) and (not self.choices or each in self.choices) for each in value
                ) and (self.most is None or len(value) <= self.most)  # fmt: skip
            case "object":
                return isinstance(value, dict)
            case "integer" | "number":
                known = isinstance(value, int) or (self.kind == "number" and isinstance(value, float))
                return (
                    known and (self.least is None or self.least <= value) and (self.most is None or value <= self.most)
                )
        return False

    def _allowed(self) -> str:
        if self.choices:
            return f"{'any' if self.kind == 'array' else 'one'} of {', '.join(self.choices)}"
        name = _NAMES[self.kind]
        if self.kind == "array" and self.most is not None:
            return f"{name}, at most {self.most}"
        if self.least is not None and self.most is not None:
            return f"{name} from {self.least} to {self.most}"
        return name


def _decoded(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name, what it says of itself, its parameters, and the function that answers."""

    name: str
    description: str
    parameters: Mapping[str, Parameter]
    example: Mapping[str, JSON]
    """Arguments that work, for messages."""
    call: str
    """``module:function`` in this package."""
    effect: Effect = "read"
    any_of: tuple[str, ...] = ()
    """Parameters of which one is needed."""
    brief: bool = True
    """False for tools of the core: they are listed with their defaults and all hints."""

    @property
    def writes(self) -> bool:
        """True where a call changes what the vault holds."""
        return self.effect != "read"

    def to_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its arguments."""
        required = [name for name, parameter in self.parameters.items() if parameter.required]
        properties = {name: each.to_schema(brief=self.brief) for name, each in self.parameters.items()}
        schema: dict[str, Any] = {"type": "object"}
        schema |= {"properties": properties} if properties else {}
        schema |= {"required": required} if required else {}
        return schema if self.brief else schema | {"additionalProperties": False}

    def to_hints(self) -> dict[str, bool]:
        """Return its annotations; destructive counts only where something is changed."""
        if self.effect == "read":
            return {"readOnlyHint": True, **({} if self.brief else {"idempotentHint": True}), "openWorldHint": False}
        return {
            "readOnlyHint": False,
            "destructiveHint": self.effect == "destroy",
            "idempotentHint": self.effect == "update",
            "openWorldHint": False,
        }

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments checked, with the defaults of what is missing."""
        try:
            unknown = sorted(set(given) - set(self.parameters))
            if unknown:
                allowed = ", ".join(self.parameters) or "none"
                raise WrongArguments(f"{_shown(unknown[0])} is no parameter; allowed are: {allowed}")
            values = {
                name: parameter.default if given.get(name) is None else parameter.read(name, given[name])
                for name, parameter in self.parameters.items()
            }
            for name, parameter in self.parameters.items():
                if parameter.required and values[name] in (None, "", []):
                    raise WrongArguments(f"{name} is missing: {parameter.description or 'give it'}")
            if self.any_of and all(values[name] in (None, "") for name in self.any_of):
                raise WrongArguments(f"give {' or '.join(self.any_of)}")
        except WrongArguments as error:
            example = json.dumps(self.example, ensure_ascii=False)
            raise WrongArguments(f"{self.name}: {error}; for example {example}") from None
        return values


def text(description: str, default: str | None = None, *, required: bool = False) -> Parameter:
    """Return a parameter that takes a text."""
    return Parameter("string", description, default, required=required)


def choice(names: str, default: str | None = None, description: str = "", *, required: bool = False) -> Parameter:
    """Return a parameter that takes one of some words."""
    return Parameter("string", description, default, tuple(names.split()), required=required)


def words(description: str, names: str = "", *, most: int | None = None, required: bool = False) -> Parameter:
    """Return a parameter that takes a list of texts."""
    return Parameter("array", description, None, tuple(names.split()), most=most, required=required)


def whole(description: str, default: int | None, least: int, most: int) -> Parameter:
    """Return a parameter that takes a whole number."""
    return Parameter("integer", description, default, least=least, most=most)


def number(description: str, default: float | None, least: float, most: float) -> Parameter:
    """Return a parameter that takes a number."""
    return Parameter("number", description, default, least=least, most=most)


def flag(description: str, *, default: bool | None = None) -> Parameter:
    """Return a parameter that is true or false."""
    return Parameter("boolean", description, default)


def mapping(description: str) -> Parameter:
    """Return a parameter that takes an object."""
    return Parameter("object", description)


LEAST_TOKENS: Final = 100
MOST_TOKENS: Final = 50_000


def tokens(default: int, description: str = "Budget of the answer.") -> Parameter:
    """Return the budget of an answer."""
    return whole(description, default, LEAST_TOKENS, MOST_TOKENS)
