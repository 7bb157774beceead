"""Seed files in TOML or YAML: entities, aliases, predicates and facts written by hand.

```toml
source = "team.toml"                 # of facts that name none; the file's name unless given

[predicates.deploys_to]              # optional
functional = true
inverse = "deployed_from"

[[entities]]
name = "Keystone"
type = "project"
aliases = ["KS", "the keystone"]
facts = { stack = "Rust", port = "3055", maintainer = ["Ann", "Bob"] }

[aliases]                            # optional: another name = whom it means, one or several
Mum = "Ada Example"

[[facts]]
subject = "Keystone"
predicate = "status"
object = "beta"
valid_from = 2026-02-01

[[relations]]                        # the same, between entities
subject = "Ann"
predicate = "owns"
object = "Keystone"
weight = 0.5
```

The whole file is checked before anything is written, and reading it again changes nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.clock import parse_instant
from lamina_engine.errors import IngestError, InvalidArgument, name_type
from lamina_engine.facts import names
from lamina_engine.facts.entities import EntityDraft, ensure_entities
from lamina_engine.facts.log import write
from lamina_engine.facts.predicates import KINDS, declare, predicate_name
from lamina_engine.facts.schema import Draft

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

ORIGIN: Final = "seed"
_MOST_BYTES: Final = 1 << 24
_PARTS: Final = ("source", "predicates", "entities", "aliases", "facts", "relations")
_ENTITY: Final = ("name", "type", "aliases", "facts", "category")
_PREDICATE: Final = ("functional", "inverse", "object")


@dataclass(slots=True)
class SeedReport:
    """Counts and problems of an imported file."""

    entities: int = 0
    aliases: int = 0
    facts: int = 0
    relations: int = 0
    """Facts whose object is an entity, among those."""
    unchanged: int = 0
    """Facts that were there already."""
    superseded: int = 0
    withdrawn: int = 0
    """Facts and aliases that the file held when it was last read, and no longer holds."""
    problems: tuple[str, ...] = ()


def seed(memory: Memory, path: Path, *, strict: bool = False) -> SeedReport:
    """Import a seed file in TOML or YAML; see the module's documentation."""
    document = _read(path)
    label = str(document.get("source") or path.name)
    declared = dict(_predicates(document, path))
    entities = [*_entities(document, path)]
    drafts = [*_drafts(document, path, label, memory.config.tz)]
    named = _with_aliases(_with_subjects(entities, drafts), document, path)
    for name, what in declared.items():
        declare(memory, name, **what)
    made = ensure_entities(memory, named, origin=ORIGIN)
    written = write(memory, drafts, origin=ORIGIN, strict=strict, repeat=False)
    from lamina_engine.facts.view import fact_view_at

    facts = fact_view_at(memory).facts_at(sorted(set(written.rows))) if written.rows else []
    new = {fact.row for fact in facts if fact.object_id is not None} & set(written.rows)
    return SeedReport(
        made.entities + written.entities, made.added, written.added, min(len(new), written.added), written.unchanged,
        written.superseded,
    )  # fmt: skip


def _read(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else None
    except OSError as error:
        raise IngestError(f"{path} cannot be read ({error.strerror}); give a seed file in TOML or YAML") from error
    if content is None:
        raise InvalidArgument(
            f"{path} has more than {_MOST_BYTES:,} bytes; a seed file is written by hand: import the rest"
        )
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            import yaml

            document = yaml.safe_load(content.decode())
        else:
            document = tomllib.loads(content.decode())
    except RecursionError as error:
        raise InvalidArgument(f"{path} is nested too deep; a seed file has lists of plain fields") from error
    except ValueError as error:  # not TOML, not UTF-8, or a number of thousands of digits
        raise InvalidArgument(f"{path} is not valid TOML: {error}; a YAML file's name ends in .yaml") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "yaml":
            raise
        raise InvalidArgument(f"{path} is not valid YAML: {error}") from error
    if not isinstance(document, dict):
        raise InvalidArgument(f"{path} holds {name_type(document)}; a seed file has the parts {', '.join(_PARTS)}")
    _check_fields(document, _PARTS, f"{path}")
    return document


def _check_fields(found: Any, allowed: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise InvalidArgument(f"{where} is {name_type(found)}; it has the fields {', '.join(allowed)}")
    unknown = sorted(str(name) for name in found if name not in allowed)
    if unknown:
        raise InvalidArgument(f"{where}: {unknown[0]!r} is not known; allowed are {', '.join(allowed)}")
    return found


def _list_part(document: Mapping[str, Any], part: str, path: Path) -> list[Any]:
    found = document.get(part) or []
    if not isinstance(found, list):
        raise InvalidArgument(f"{path}: {part} is {name_type(found)}; write it as a list of tables")
    return found


def _predicates(document: Mapping[str, Any], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    found = document.get("predicates") or {}
    if not isinstance(found, dict):
        raise InvalidArgument(f"{path}: predicates is {name_type(found)}; write a table for each")
    for name, what in found.items():
        fields = _check_fields(what or {}, _PREDICATE, f"{path}: predicate {name!r}")
        if fields.get("object", "any") not in KINDS:
            raise InvalidArgument(
                f"{path}: predicate {name!r}: object={fields['object']!r} must be one of {', '.join(KINDS)}"
            )
        yield predicate_name(str(name)), dict(fields)


def _entities(document: Mapping[str, Any], path: Path) -> Iterator[EntityDraft]:
    for number, found in enumerate(_list_part(document, "entities", path), 1):
        entity = _check_fields(found, _ENTITY, f"{path}: entity {number}")
        aliases = entity.get("aliases") or []
        if not isinstance(aliases, list):
            raise InvalidArgument(f"{path}: entity {number}: aliases={aliases!r} must be a list")
        kind = entity.get("type", entity.get("category"))
        yield EntityDraft(
            names.clean(entity.get("name", "")), kind, tuple(names.clean(alias, "alias") for alias in aliases)
        )


def _drafts(document: Mapping[str, Any], path: Path, label: str, tz: str) -> Iterator[Draft]:
    for number, entity in enumerate(_list_part(document, "entities", path), 1):
        facts = entity.get("facts") or {}
        if not isinstance(facts, dict):
            raise InvalidArgument(f"{path}: entity {number}: facts must be a table of predicates and values")
        for predicate, values in facts.items():
            for value in values if isinstance(values, list) else [values]:
                yield Draft(entity["name"], str(predicate), _text(value), subject_type=entity.get("type"), source=label)
    for part in ("facts", "relations"):
        for number, found in enumerate(_list_part(document, part, path), 1):
            fact = dict(_check_fields(found, Draft._fields, f"{path}: {part[:-1]} {number}"))
            missing = [name for name in ("subject", "predicate", "object") if fact.get(name) in (None, "")]
            if missing:
                raise InvalidArgument(f"{path}: {part[:-1]} {number} has no {missing[0]}")
            for name in ("valid_from", "valid_to"):
                if fact.get(name) is not None:
                    fact[name] = parse_instant(fact[name], tz, what=name)
            fact["object"] = _text(fact["object"])
            yield Draft(**{"source": label, **fact})


def _text(value: Any) -> str:
    """Return a value as text: numbers, dates and booleans as written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else "" if value is None else str(value)


def _with_subjects(entities: list[EntityDraft], drafts: list[Draft]) -> list[EntityDraft]:
    """Add subjects that no entity describes, so that the order of facts does not matter."""
    named = {names.caseless(entity.name) for entity in entities}
    new: dict[str, EntityDraft] = {}
    for draft in drafts:
        if draft.subject.count(":") < 2 and names.caseless(draft.subject) not in named:
            new.setdefault(
                names.caseless(draft.subject), EntityDraft(names.clean(draft.subject, "subject"), draft.subject_type)
            )
    aliases = {names.caseless(alias) for entity in entities for alias in entity.aliases}
    return [*entities, *(entity for key, entity in new.items() if key not in aliases)]


def _with_aliases(entities: list[EntityDraft], document: Mapping[str, Any], path: Path) -> list[EntityDraft]:
    """Add stand-alone aliases; one may name another, but not in a circle."""
    given = document.get("aliases") or {}
    if not isinstance(given, dict):
        raise InvalidArgument(f"{path}: aliases must be a table: another name, and whom it means")
    targets = {
        names.clean(str(alias), "alias"): [names.clean(str(name), "alias of") for name in (to if isinstance(to, list) else [to])]
        for alias, to in given.items()
    }  # fmt: skip
    by_name = {names.caseless(entity.name): at for at, entity in enumerate(entities)}
    found = [EntityDraft(entity.name, entity.type, list(entity.aliases)) for entity in entities]
    for alias in targets:
        for name in _resolve_alias(alias, targets, set(by_name), path, ()):
            key = names.caseless(name)
            if key not in by_name:
                by_name[key] = len(found)
                found.append(EntityDraft(name, None, []))
            found[by_name[key]] = found[by_name[key]]._replace(aliases=[*found[by_name[key]].aliases, alias])
    spoken = {names.caseless(alias) for alias in targets}
    described = {names.caseless(entity.name) for entity in _entities(document, path)}
    return [
        entity
        for entity in found
        if entity.aliases or names.caseless(entity.name) in described or names.caseless(entity.name) not in spoken
    ]


def _resolve_alias(
    alias: str, targets: Mapping[str, list[str]], described: set[str], path: Path, before: tuple[str, ...]
) -> Iterator[str]:
    if alias in before:
        raise InvalidArgument(f"{path}: the aliases {' -> '.join([*before, alias])} lead in a circle; name an entity")
    for name in targets[alias]:
        if name in targets and names.caseless(name) not in described:
            yield from _resolve_alias(name, targets, described, path, (*before, alias))
        elif names.caseless(name) == names.caseless(alias):
            raise InvalidArgument(f"{path}: the alias {alias!r} leads to itself; name an entity")
        else:
            yield name
