"""``lamina facts``: add, query and import facts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lamina.cli.command import Call, FilePath, command, group, limit_option, number_option
from lamina.cli.terminal import bold, clip, columns, count_of, dim, headline, printable, short_date, table, width, wrap
from lamina_engine.clock import format_instant

if TYPE_CHECKING:
    from lamina.results import Answers, Record, Results
    from lamina_engine.facts.predicates import Predicate
    from lamina_engine.facts.schema import Entity
    from lamina_engine.facts.seeding import SeedReport
    from lamina_engine.results import Contradiction, Fact

T = TypeVar("T", bound="Record")
_KINDS = ("any", "entity", "literal")
_VALID_AT = click.option("--valid-at", metavar="DATE", help="Facts valid at this date. [default: now]")
_LIMIT = limit_option(100, "lines")
_AS_OF = click.option("--as-of", metavar="DATE", help="As of this date: only what was recorded by then.")


@command(
    "add",
    "lamina facts add Keystone runs_on 'port 3055' --source keystone.md",
    "lamina facts add Ann works_at Acme --type person --valid-from 2026-02-01",
)
@click.argument("subject")
@click.argument("predicate")
@click.argument("object")
@click.option("--valid-from", metavar="DATE", help="First date at which it holds.")
@click.option("--valid-to", metavar="DATE", help="First date at which it no longer holds.")
@click.option("--source", metavar="TEXT", help="Id of a chunk, or a path. [default: user]")
@click.option("--confidence", type=float, default=1.0, show_default=True, metavar="X", help="Confidence, 0 to 1.")
@click.option("--weight", type=float, default=1.0, show_default=True, metavar="X", help="Weight, above 0.")
@click.option("--type", metavar="NAME", help="Type of the subject, such as person or project.")
@click.option("--object-type", metavar="NAME", help="Type of the object, which makes it an entity.")
@click.option(
    "--kind", type=click.Choice(["auto", "entity", "literal"]), default="auto", show_default=True,
    help="Kind of the object; auto follows the registered predicate.",
)  # fmt: skip
@click.option("--category", metavar="NAME", help="Category. [default: the subject's type]")
@click.option("--strict", is_flag=True, help="Reject unregistered predicates.")
def add(call: Call, subject: str, predicate: str, object: str, **options: Any) -> None:
    """Add a fact: SUBJECT PREDICATE OBJECT.

    A new value of a predicate that has one value at a time (status, port, lives_in, ...) ends the one before it.
    """
    with call.open() as vault:
        fact = vault.facts.add(subject, predicate, object, **options)
    call.answer(fact.to_dict(), lambda: [_fact_line(fact)])


@command("close", "lamina facts close Ann phone 555-0100", "lamina facts close Ann works_at --valid-to 2026-03-01")
@click.argument("subject")
@click.argument("predicate")
@click.argument("object", required=False)
@click.option("--valid-to", metavar="DATE", help="First date at which it no longer holds. [default: today]")
def close(call: Call, subject: str, predicate: str, object: str | None, valid_to: str | None) -> None:
    """End open facts: one value, or all values of a predicate."""
    with call.open() as vault:
        count = vault.facts.close(subject, predicate, object, valid_to)
    call.answer({"closed": count}, lambda: [f"closed {count_of(count, 'fact')}"])


@command("retract", "lamina facts retract 12", "lamina facts retract 12 15 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, type=click.IntRange(min=0))
def retract(call: Call, ids: tuple[int, ...]) -> None:
    """Retract facts that were never true; `close` ends one that was.

    ID is the number of a fact: `lamina facts list --json` and `lamina facts about --json` show it as "id".
    """
    with call.open() as vault:
        count = vault.facts.retract(ids)
    call.answer({"retracted": count}, lambda: [f"retracted {count_of(count, 'fact')}"])


@command("alias", "lamina facts alias Mum 'Ada Example'", "lamina facts alias Mum --remove")
@click.argument("alias")
@click.argument("entity", required=False)
@click.option("--type", metavar="NAME", help="Type of the entity, where several share its name.")
@click.option("--remove", is_flag=True, help="Remove the alias from ENTITY, or from all entities.")
def alias(call: Call, alias: str, entity: str | None, type: str | None, remove: bool) -> None:
    """Add or remove another name of an entity."""
    if entity is None and not remove:
        raise click.UsageError("give the ENTITY that ALIAS means, or --remove")
    with call.open() as vault:
        if remove:
            count = vault.facts.unalias(alias, entity)
            call.answer(
                {"alias": alias, "removed": count},
                lambda: [f"{printable(alias)}: removed from {count:,} {'entity' if count == 1 else 'entities'}"],
            )
            return
        found = vault.facts.alias(alias, str(entity), type=type)
    call.answer(found.to_dict(), lambda: [_entity_line(found)])


@command("merge", "lamina facts merge vault:concept:keystone vault:project:keystone")
@click.argument("entity")
@click.argument("into")
def merge(call: Call, entity: str, into: str) -> None:
    """Merge one entity into another, with its names, aliases and facts."""
    with call.open() as vault:
        found = vault.facts.merge(entity, into)
    call.answer(found.to_dict(), lambda: [_entity_line(found)])


@command(
    "about",
    "lamina facts about Keystone",
    "lamina facts about Mum --valid-at 2025-06-01 --json",
    "lamina facts about Ann --history",
)
@click.argument("entity")
@_VALID_AT
@_AS_OF
@click.option(
    "--direction", type=click.Choice(["both", "out", "in"]), default="both", show_default=True,
    help="Facts with the entity as subject (out), as object (in), or both.",
)  # fmt: skip
@click.option("--predicate", "predicates", multiple=True, metavar="NAME", help="Only this predicate; may be repeated.")
@click.option("--history", is_flag=True, help="Include facts that are no longer, or not yet, valid.")
@click.option("--type", metavar="NAME", help="Type of the entity, where several share its name.")
def about(call: Call, entity: str, predicates: tuple[str, ...], **options: Any) -> None:
    """List the facts of an entity, given by name, alias or id, or by words of one entity's name."""
    with call.open(mode="r") as vault:
        found = vault.facts.about(entity, predicates=predicates or None, **options)
        meant = vault.facts.resolve(entity, type=options["type"], part=True, as_of=options["as_of"])
    if meant.how == "part" and meant.entity is not None:
        chosen = printable(f"lamina: {entity!r} is read as {meant.entity.name!r} ({meant.entity.id})")
        print(chosen, file=sys.stderr)
    document = {"entity": entity, "count": len(found), "facts": [fact.to_dict() for fact in found]}
    call.answer(document, lambda: map(_fact_line, found))


@command(
    "list", "lamina facts list", "lamina facts list --predicate owner", "lamina facts list --category person --json"
)
@click.argument("subject", required=False)
@click.option("--predicate", metavar="NAME", help="Only this predicate.")
@click.option("--object", metavar="TEXT", help="Only this value, or this entity.")
@click.option("--category", metavar="NAME", help="Only this category, such as person or project.")
@_VALID_AT
@click.option("--history", is_flag=True, help="Include facts that are no longer, or not yet, valid.")
@_LIMIT
def list_(
    call: Call, subject: str | None, predicate: str | None, object: str | None, limit: int, **options: Any
) -> None:
    """List facts, in the order in which they were written."""
    with call.open(mode="r") as vault:
        # one more than requested, to learn whether there are more
        found = vault.facts.list(subject, predicate, object, limit=limit + 1 if limit else None, **options)
    _answer_list(call, "facts", found, limit, _fact_line)


@command("entities", "lamina facts entities", "lamina facts entities --type person --json")
@click.option("--type", "--category", "type", metavar="NAME", help="Only entities of this type.")
@_LIMIT
def entities(call: Call, type: str | None, limit: int) -> None:
    """List entities, by name."""
    with call.open(mode="r") as vault:
        found = vault.facts.entities(type)
    _answer_list(call, "entities", found, limit, _entity_line)


@command("aliases", "lamina facts aliases", "lamina facts aliases Keystone", "lamina facts aliases --type project")
@click.argument("entity", required=False)
@click.option("--type", "--category", "type", metavar="NAME", help="Only aliases of entities of this type.")
@_LIMIT
def aliases(call: Call, entity: str | None, type: str | None, limit: int) -> None:
    """List aliases, by entity."""
    with call.open(mode="r") as vault:
        found = vault.facts.aliases(entity, type=type)
    _answer_list(call, "aliases", found, limit, lambda each: _line(each.alias, headline(each.entity, each.id)))


@command("predicates", "lamina facts predicates", "lamina facts predicates --used")
@click.option("--used", is_flag=True, help="Only those that facts of this vault have, registered or not.")
def predicates(call: Call, used: bool) -> None:
    """List predicates: which have one value at a time, and how they read from the object.

    `lamina facts declare` changes them.
    """
    with call.open(mode="r") as vault:
        found = vault.facts.predicates(used=used)
    document = {"count": len(found), "predicates": found.to_dicts()}
    call.answer(document, lambda: table((each.name, _predicate_text(each)) for each in found))


@command(
    "declare",
    "lamina facts declare on_call --one",
    "lamina facts declare owner --several",
    "lamina facts declare mentors --inverse mentored_by --object entity",
)
@click.argument("predicate")
@click.option("--one/--several", "functional", default=None, help="One value at a time, or several.")
@click.option("--inverse", metavar="NAME", help="The predicate read from the object.")
@click.option("--object", type=click.Choice(_KINDS), help="Kind of the object.")
def declare(call: Call, predicate: str, functional: bool | None, inverse: str | None, object: Any) -> None:
    """Register a predicate, or change how it is registered.

    Where it has one value at a time from now on, a value that is there already ends where the next one was stated.
    """
    with call.open() as vault:
        found = vault.facts.declare(predicate, functional=functional, inverse=inverse, object=object)
    mended = count_of(found.mended, "fact") + " mended" if found.mended else None
    call.answer(found.to_dict(), lambda: [_line(found.name, headline(_predicate_text(found), mended))])


@command("entity", "lamina facts entity Mum", "lamina facts entity mercury --json")
@click.argument("name")
@click.option("--fuzzy", is_flag=True, help="Also match parts, prefixes and names that differ by one letter.")
def entity(call: Call, name: str, fuzzy: bool) -> None:
    """Show all entities that a name may mean, with their aliases."""
    from lamina_engine.errors import EntityNotFound

    with call.open(mode="r") as vault:
        found = vault.facts.resolve(name, part=fuzzy, prefix=fuzzy, edits=fuzzy)
    if not found.entities:
        raise EntityNotFound(
            f"no entity is called {name!r}; `lamina facts entity --fuzzy` also looks for similar names"
        )
    document = {
        "name": name, "how": found.how, "ambiguous": found.ambiguous, "entities": [each.to_dict() for each in found.entities],
    }  # fmt: skip
    call.answer(document, lambda: map(_entity_line, found.entities))


@command(
    "ask", 'lamina facts ask "what port does Keystone run on?"', 'lamina facts ask "who owns Keystone?" -k 1 --json'
)
@click.argument("question")
@number_option("-k", 6, "Maximum number of answers.")
@_VALID_AT
@_AS_OF
@click.option("--identity", metavar="NAME", help='Entity that "I" and "my" mean.')
@click.option("--fuzzy", is_flag=True, help="Also match prefixes and names that differ by one letter.")
@click.option("--related", is_flag=True, help="Also print facts that are related and do not answer.")
def ask(call: Call, question: str, related: bool, **options: Any) -> None:
    """Answer a question from the facts, or from a sentence that states the answer.

    Where none does, the exit code is 1 and nothing is guessed. In JSON, "answered" says so, and "asked" of an
    answer that it is what was asked for.
    """
    with call.open(mode="r") as vault:
        found = vault.facts.ask(question, **options)
    document = {"question": question, "answered": found.answered, "answers": [answer.to_dict() for answer in found]}
    call.answer(document, lambda: _answer_lines(found, related=related))
    if not found.answered:
        raise click.exceptions.Exit(1)


@command("seed", "lamina facts seed team.toml")
@click.argument("path", type=FilePath(path_type=Path))
@click.option("--strict", is_flag=True, help="Reject unregistered predicates.")
def seed(call: Call, path: Path, strict: bool) -> None:
    """Read a TOML or YAML file of entities, aliases, facts and relations.

    \b
    [[entities]]
    name = "Keystone"
    type = "project"
    aliases = ["KS", "the keystone"]
    facts = { stack = "Rust", port = "3055", maintainer = ["Ann", "Bob"] }

    \b
    [[relations]]
    subject = "Ann"
    predicate = "owns"
    object = "Keystone"
    """  # noqa: D301 - click reads the sign itself
    with call.open() as vault:
        found = vault.facts.seed(path, strict=strict)
    call.answer(_seed_document(path, found), lambda: _seed_lines(path, found))


@command("extract", "lamina facts extract", "lamina facts extract observations.txt", "agent | lamina facts extract -")
@click.argument("path", required=False, type=FilePath(path_type=Path, allow_dash=True))
@click.option("--source", metavar="TEXT", help="Source of the chunks. [default: the file's name]")
@click.option("--session", metavar="NAME", help="Session of the chunks.")
@click.option("--judge", is_flag=True, help="Also ask the language model behind $LAMINA_JUDGE_URL.")
@number_option("--max-tokens", 500_000, "Token budget of the language model.")
def extract(
    call: Call, path: Path | None, source: str | None, session: str | None, judge: bool, max_tokens: int
) -> None:
    """Extract facts from the fields of notes, or from a file of observations.

    Without PATH, frontmatter and "key:: value" lines of the vault's notes become facts. A file's observation blocks become
    chunks too; - reads stdin.
    """
    from lamina_engine.embed.chat import Budget

    text = None
    if path is not None:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8", errors="replace")
        source = source or (None if str(path) == "-" else path.name)
    elif source or session:
        raise click.UsageError("--source and --session are of a file's chunks; give its PATH")
    budget = Budget(tokens=max_tokens)
    with call.open() as vault:
        report = vault.facts.extract(text, source=source, session=session, judge=True if judge else None, budget=budget)
    document = report.to_dict()
    call.answer(
        document, lambda: table([(name, _value_text(value)) for name, value in document.items() if value is not None])
    )


@command("contradictions", "lamina facts contradictions", "lamina facts contradictions --judge")
@click.option("--judge", is_flag=True, help="First ask the language model behind $LAMINA_JUDGE_URL.")
@number_option("--max-tokens", 500_000, "Token budget of the language model.")
def contradictions(call: Call, judge: bool, max_tokens: int) -> None:
    """List facts that contradict or update each other."""
    from lamina_engine.embed.chat import Budget

    with call.open() as vault:
        found = vault.facts.contradictions(judge=True if judge else None, budget=Budget(tokens=max_tokens))
    document = {"contradictions": [each.to_dict() for each in found]}
    call.answer(document, lambda: _dispute_lines(found))


@command("import", "lamina facts import facts.db", "lamina facts import facts.jsonl")
@click.argument("path", type=FilePath(path_type=Path))
def import_(call: Call, path: Path) -> None:
    """Read an openclaw facts.db, or the output of `lamina export --format facts`."""
    with call.open() as vault:
        found = vault.facts.load(path)
    call.answer(_seed_document(path, found), lambda: _seed_lines(path, found))


def _fact_line(fact: Fact) -> str:
    since, until = short_date(format_instant(fact.valid_from_us)), short_date(format_instant(fact.valid_to_us))
    interval = f"{since or ''} to {until or ''}".strip() if since or until else None
    doubt = None if fact.confidence == 1.0 else f"{fact.confidence:.0%}"
    wrong = headline(fact.status, fact.reason) if fact.is_doubted else None
    details = headline(interval, doubt, printable(fact.source), wrong)
    near = fact.subject if fact.direction == "out" else fact.object
    return _line(f"{near} {fact.key} {fact.value}", details)


def _answer_lines(found: Answers, *, related: bool) -> Iterator[str]:
    asked = [answer for answer in found if answer.asked]
    if not found.answered:
        yield "no fact answers this"
        strange = ", ".join(map(repr, found.unknown))
        yield from [dim(f"no entity or fact has the name {printable(strange)}")] if strange else []
    shown = found if related or (found.answered and not asked) else asked
    for answer in shown:
        mark = "ambiguous" if answer.ambiguous else None
        disputed = "contradicted" if answer.contradicted else None
        wrong = None if answer.status == "active" else headline(answer.status, answer.reason)
        until = f"until {short_date(format_instant(answer.valid_to_us))}" if answer.valid_to_us is not None else None
        details = headline(f"{answer.score:g}", answer.method, printable(answer.source), until, mark, disputed, wrong)
        hops = [*answer.path, (answer.subject, answer.predicate, answer.object)]
        yield from _full_lines(", ".join(map(" ".join, hops)), details)
    others = len(found) - len(shown)
    if others and not found.answered:
        yield dim(f"{count_of(others, 'related fact')}: --related shows them; `lamina recall` searches the notes")
    elif not found.answered and not found:
        yield dim("`lamina recall` searches the notes; `lamina facts entities` lists what facts are about")


def _dispute_lines(found: Sequence[Contradiction]) -> Iterator[str]:
    for each in found:
        pair = f"{each.old.subject} {each.old.predicate} {each.old.object} -> {each.new.object}"
        yield _line(pair, headline(each.relation, f"{each.confidence:.0%}", printable(each.reason)))
    if not found:
        yield "no fact contradicts another"


def _line(text: str, details: str) -> str:
    text = clip(printable(text), max(20, columns() - 24))
    return f"{bold(text)}  {dim(clip(details, max(20, columns() - width(text) - 2)))}"


def _full_lines(text: str, details: str) -> Iterator[str]:
    """Yield a whole text with its details: wrapped on a terminal, in one line for a pipe."""
    text = printable(text)
    room = columns()
    if width(text) + width(details) + 2 <= room or not sys.stdout.isatty():
        yield f"{bold(text)}  {dim(details)}"
        return
    yield from map(bold, wrap(text, room))
    yield from (dim(f"  {line}") for line in wrap(details, room - 2))


def _entity_line(entity: Entity) -> str:
    others = ", ".join(map(printable, entity.aliases))
    return _line(entity.name, headline(entity.type, entity.id, f"also {others}" if others else None))


def _predicate_text(predicate: Predicate) -> str:
    """Return what is registered of a predicate, in words."""
    values = "one value at a time" if predicate.functional else "several values"
    objects = {"entity": "of entities", "literal": "of texts", "any": None}[predicate.object]
    return headline(values, objects, f"inverse {predicate.inverse}" if predicate.inverse else None)


def _answer_list(call: Call, name: str, found: Results[T], limit: int, line: Callable[[T], str]) -> None:
    """Print the first records of a list, and whether there are more."""
    shown = found[:limit] if limit else found
    more = len(found) > len(shown)
    nothing = f"no {name}: `lamina facts add` and `lamina facts seed` write some, `lamina ingest --facts` reads those of notes"
    call.answer(
        {"count": len(shown), "more": more, name: shown.to_dicts()}, lambda: map(line, shown) if shown else [nothing]
    )
    if more and not call.as_json:
        print(f"lamina: these are the first {limit}; --limit 0 lists all", file=sys.stderr)


def _seed_document(path: Path, found: SeedReport) -> dict[str, Any]:
    return {"path": str(path), **asdict(found), "problems": list(found.problems)}


def _seed_lines(path: Path, found: SeedReport) -> Iterable[str]:
    counts = [(name, count) for name, count in asdict(found).items() if name != "problems"]
    yield f"read {count_of(found.facts, 'fact')} from {printable(str(path))}"
    yield from table([(name, f"{count:,}") for name, count in counts if count], indent=2)
    yield from (f"  left out: {printable(problem)}" for problem in found.problems)


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value):,}" if not value or not isinstance(value[0], (str, dict)) else _list_text(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))


def _list_text(values: list[Any]) -> str:
    return f"{len(values):,}: " + "; ".join(
        printable(value if isinstance(value, str) else ", ".join(map(str, value.values()))) for value in values[:5]
    )


facts: click.Group = group(
    "facts", "Facts about people, projects and things.",
    [
        add, close, retract, alias, merge, about, list_, ask, entity, entities, aliases, predicates, declare, seed, extract,
        contradictions, import_,
    ],
    "lamina facts seed team.toml && lamina facts about Keystone",
)  # fmt: skip
