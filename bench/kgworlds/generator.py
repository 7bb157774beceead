"""Generator of invented worlds: notes, a seed file of facts, and questions with the file that answers each.

What the notes say is said in words, and a part of it again as fields: by turns in frontmatter, in ``key:: value`` lines,
or in the seed file beside the notes. Questions are phrased apart from both. The same seed gives the same bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.kgworlds import values
from bench.kgworlds.phrasing import ELSEWHERE, FIELDS, NOBODY, NOT_SAID, QUESTIONS
from bench.kgworlds.settings import SETTINGS, Setting
from lamina_engine.errors import InvalidArgument

WORLDS: Final = tuple(setting.name for setting in SETTINGS)
"""Names of the worlds; the last is held out: its wording, fields and names are used for nothing else."""
SEED: Final = 20260322
_FORMS: Final = ("front", "inline", "seed")


@dataclass(slots=True)
class Note:
    """One file on its way."""

    path: str
    title: str
    type: str | None = None
    front: dict[str, str | list[str]] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the file's content."""
        fields: dict[str, str | list[str]] = {"title": self.title}
        if self.type:
            fields["type"] = self.type
        lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in (fields | self.front).items()]
        return "---\n" + "\n".join(lines) + "\n---\n\n" + f"# {self.title}\n\n" + "\n\n".join(self.body) + "\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the file that answers it; none where nothing does."""

    query: str
    expected: str | None
    category: str


@dataclass(slots=True)
class World:
    """Notes by path, a seed file, who "I" is, and questions."""

    name: str
    identity: str
    notes: dict[str, Note] = field(default_factory=dict)
    entities: list[dict[str, object]] = field(default_factory=list)
    facts: list[dict[str, str]] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)

    @property
    def files(self) -> dict[str, str]:
        """The notes' texts by path."""
        return {path: note.text() for path, note in sorted(self.notes.items())}

    def seed(self) -> str:
        """Return the seed file, TOML."""
        parts = [_table("entities", entity) for entity in self.entities]
        return "\n".join([*parts, *(_table("facts", fact) for fact in self.facts)])

    def document(self) -> dict[str, object]:
        """Return the world as it ships: name, identity, notes by path, seed file and questions."""
        asked = [[each.query, each.expected, each.category] for each in self.questions]
        return {
            "name": self.name, "identity": self.identity, "files": self.files, "seed": self.seed(), "questions": asked,
        }  # fmt: skip


def make_world(name: str, seed: int = SEED) -> World:
    """Make a world.

    Parameters
    ----------
    name : str
        One of `WORLDS`.
    seed : int
        Chooses values, and which form each field takes.

    Raises
    ------
    InvalidArgument
        When there is no world of this name.
    """
    if name not in WORLDS:
        raise InvalidArgument(f"world={name!r} must be one of {', '.join(WORLDS)}")
    return _Maker(SETTINGS[WORLDS.index(name)], WORLDS.index(name), random.Random(f"{name}:{seed}")).make()


class _Maker:
    """Fills one world."""

    def __init__(self, setting: Setting, place: int, rng: random.Random) -> None:
        self.s, self.place, self.rng = setting, place, rng
        self.world = World(setting.name, setting.agent)
        self.turn = place

    def make(self) -> World:
        """Return the whole world."""
        self._people()
        self._projects()
        self._tools()
        self._papers()
        self._agent()
        self._days()
        self._chatter()
        self._unanswerable()
        return self.world

    # -------------------------------------------------------------- parts

    def _people(self) -> None:
        rng, s = self.rng, self.s
        owner, spouse, elder, brother, *others = s.people
        home = self._note("about-me.md", owner[0], "person")
        self._entity(owner, "person")
        personal = (
            "allergy",
            "coffee",
            "certification",
            "languages",
            "passport",
            "plate",
            "insurance",
            "doctor",
            "size",
            "music",
        )
        for kind in personal:
            self._say(home, owner, kind, values.pick(rng, kind, s))
            self._ask("FACTS", kind, owner[1], home)
        pages = {each: self._note(f"people/{_slug(each[0])}.md", each[0], "person") for each in (spouse, *others)}
        family = self._note("family-contacts.md", "Family contacts", None)
        for each in (spouse, elder, brother, *others):
            self._entity(each, "person")
        for each, label in ((elder, "grandmother"), (brother, "brother")):
            family.body.append(f"## {each[0]}")
            family.body.append(rng.choice(values.GREETINGS).format(x=each[1], town=rng.choice(s.towns)))
            for kind in ("phone", "birthday", "address", "relationship"):
                value = label if kind == "relationship" else values.pick(rng, kind, s)
                self._line(family, each, kind, value)
        family.body.append(f"## {s.pet}")
        self._entity((s.pet, s.pet), "pet")
        self._line(family, (s.pet, s.pet), "species", values.pick(rng, "species", s))
        self._relation(family, s.pet, "pet_of", owner[0], "inline")
        for each, page in pages.items():
            for kind in ("phone", "birthday", "email", "birthplace", "role", "timezone"):
                self._say(page, each, kind, values.pick(rng, kind, s))
        self._relation(pages[spouse], spouse[0], "married_to", owner[0], "inline")
        self._say(pages[others[0]], others[0], "relationship", "colleague")
        a, b, c, d = others
        for kind, each, page in (
            ("phone", elder, family), ("birthday", brother, family), ("address", elder, family), ("email", a, pages[a]),
            ("partner", owner, pages[spouse]), ("birthplace", b, pages[b]), ("role", c, pages[c]),
            ("pet", (s.pet, s.pet), family), ("who", brother, family), ("timezone", d, pages[d]),
        ):  # fmt: skip
            self._ask("PEOPLE", kind, each[1], page)

    def _projects(self) -> None:
        rng, s = self.rng, self.s
        pages = []
        for i, (name, short) in enumerate(s.projects):
            page = self._note(f"projects/{_slug(name)}.md", name, "project")
            self._entity((name, short), "project")
            for kind in ("stack", "status", "url", "port", "repository", "deadline", "features"):
                self._say(page, (name, short), kind, values.pick(rng, kind, s))
            leader = s.people[4 + i % 4][0]
            self._relation(page, name, FIELDS["owner"][self.place], leader, self._form())
            tool = s.tools[i % len(s.tools)]
            self._relation(page, name, FIELDS["depends"][self.place], tool, self._form())
            pages.append(page)
        self._relation(pages[1], s.projects[1][0], "uses", s.tools[5], "front")
        order = (("stack", 0), ("status", 1), ("projecturl", 2), ("repository", 3), ("deadline", 4), ("owner", 2), ("depends", 3),
                 ("features", 0), ("projectport", 4))  # fmt: skip
        for kind, i in order:
            self._ask("PROJECTS", kind, s.projects[i][1], pages[i])
        self._ask("PROJECTS", "users", s.tools[5], pages[1])

    def _tools(self) -> None:
        rng, s = self.rng, self.s
        pages = []
        for machine in s.machines:
            page = self._note(f"infra/{_slug(machine)}.md", machine, "infrastructure")
            self._entity((machine, machine), "infrastructure")
            page.body.append(rng.choice(values.MACHINES).format(x=machine, town=rng.choice(s.towns)))
        for i, name in enumerate(s.tools):
            page = self._note(f"tools/{_slug(name)}.md", name, "tool")
            self._entity((name, name), "tool")
            for kind in ("url", "port", "token", "version", "schedule", "purpose", "cost", "workflow"):
                self._say(page, (name, name), kind, values.pick(rng, kind, s))
            self._relation(page, name, FIELDS["host"][self.place], s.machines[i % 3], self._form())
            self._relation(page, name, FIELDS["owner"][self.place], s.people[4 + (i + 1) % 4][0], self._form())
            pages.append(page)
        kinds = ("url", "port", "token", "version", "schedule", "host", "purpose", "cost", "workflow", "toolowner")
        for i, kind in enumerate(kinds):
            self._ask("TOOLS", kind, s.tools[(2 * i + 1) % 6], pages[(2 * i + 1) % 6])

    def _papers(self) -> None:
        rng, s = self.rng, self.s
        wanted = (
            "approver",
            "schedule",
            "checks",
            "steps",
            "channel",
            "retention",
            "rota",
            "components",
            "limit",
            "owner",
        )
        asked = ("gate", "backup", "checks", "steps", "channel", "retention", "rota", "components", "limit", "opsowner")
        for name, kind, question in zip(s.papers, wanted, asked, strict=True):
            page = self._note(f"ops/{_slug(name)}.md", name, "document")
            self._entity((name, name), "document")
            page.body.append(rng.choice(values.PAPERS).format(x=name, firm=s.firm))
            for each in dict.fromkeys((kind, "purpose")):
                value = (
                    s.people[rng.randrange(4, 8)][0]
                    if each in ("approver", "rota", "owner")
                    else values.pick(rng, each, s)
                )
                self._say(page, (name, name), each, value)
            self._ask("OPERATIONAL", question, name, page)

    def _agent(self) -> None:
        rng, s = self.rng, self.s
        page = self._note("identity.md", s.agent, "identity")
        self._entity((s.agent, s.agent), "identity")
        page.body.append(f"I am {s.agent}, and I keep the notes of {s.people[0][0]} and of {s.firm}.")
        for kind in ("name", "principles", "style", "cares"):
            value = f"{s.agent} of {s.firm}" if kind == "name" else values.pick(rng, kind, s)
            self._say(page, (s.agent, "I"), kind, value)
        for kind in ("self", "name", "principles", "style", "cares"):
            self._ask("IDENTITY", kind, s.agent, page)

    def _days(self) -> None:
        rng, s = self.rng, self.s
        days = sorted(rng.sample(range(2, 29), len(s.events)))
        asked = (("fix", 0), ("cause", 1), ("milestone", 2), ("happened", 3), ("date", 4))
        for (name, alias), day, (question, _) in zip(s.events, days, asked, strict=True):
            page = self._note(f"daily/2026-03-{day:02d}.md", f"2026-03-{day:02d}", None)
            page.body.append(
                rng.choice(values.MORNINGS).format(town=rng.choice(s.towns), x=s.people[rng.randrange(4, 8)][1])
            )
            page.body.append(f"## {name}")
            self._entity((name, alias), "event")
            for kind in ("cause", "fix", "details"):
                self._line(page, (name, alias), kind, values.pick(rng, kind, s))
            self._line(page, (name, alias), "date", f"2026-03-{day:02d}")
            self._ask("DAILY", question, alias, page)

    def _chatter(self) -> None:
        """Notes that name everything and answer nothing: what a search by words has to get past."""
        rng, s = self.rng, self.s
        for i in range(8):
            page = self._note(f"meetings/2026-02-{3 * i + 2:02d}.md", f"Meeting {i + 1}", None)
            for _ in range(6):
                page.body.append(
                    rng.choice(values.CHATTER).format(
                        p=rng.choice(s.people)[1], q=rng.choice(s.people)[1], x=rng.choice(s.projects)[1],
                        t=rng.choice(s.tools), d=rng.choice(s.papers), e=rng.choice(s.events)[1],
                    )
                )  # fmt: skip

    def _unanswerable(self) -> None:
        rng, s = self.rng, self.s
        asked = [rng.choice(NOBODY[self.place]).format(x=name) for name in s.strangers]
        names = {
            "person": [short for _, short in s.people[1:]],
            "project": [short for _, short in s.projects],
            "tool": list(s.tools),
        }
        asked += [question.format(x=rng.choice(names[kind])) for kind, question in NOT_SAID[self.place]]
        self.world.questions += [Asked(query, None, "UNANSWERABLE") for query in (*asked, *ELSEWHERE[self.place])]

    # -------------------------------------------------------------- pieces

    def _note(self, path: str, title: str, kind: str | None) -> Note:
        note = self.world.notes[path] = Note(path, title, kind)
        return note

    def _entity(self, names: tuple[str, str], kind: str) -> None:
        aliases = [] if names[0] == names[1] else [names[1]]
        self.world.entities.append({"name": names[0], "type": kind, "aliases": aliases})

    def _form(self) -> str:
        self.turn += 1
        return _FORMS[self.turn % len(_FORMS)]

    def _say(self, note: Note, names: tuple[str, str], kind: str, value: str) -> None:
        """Say a thing in words (mostly), and as a field in one of the three forms."""
        key, form = FIELDS[kind][self.place], self._form()
        if self.rng.random() < values.SAID_IN_WORDS:
            note.body.append(values.sentence(self.rng, kind).format(x=names[1], value=value))
        if form == "front":
            note.front[key] = value
        elif form == "inline":
            note.body.append(f"{key}:: {value}")
        else:
            self._seeded(names[0], key, value, note.path)

    def _line(self, note: Note, names: tuple[str, str], kind: str, value: str) -> None:
        """Say a thing below a heading of its own: in words, and as a line or in the seed file."""
        key = FIELDS[kind][self.place]
        note.body.append(values.sentence(self.rng, kind).format(x=names[1], value=value))
        if self._form() == "seed":
            self._seeded(names[0], key, value, note.path)
        else:
            note.body.append(f"{key}:: {value}")

    def _relation(self, note: Note, subject: str, predicate: str, target: str, form: str) -> None:
        if form == "front":
            note.front[predicate] = f"[[{target}]]"
        elif form == "inline":
            note.body.append(f"{predicate}:: [[{target}]]")
        else:
            note.body.append(self.rng.choice(values.RELATED).format(x=subject, y=target))
            self._seeded(subject, predicate, target, note.path)

    def _seeded(self, subject: str, predicate: str, value: str, path: str) -> None:
        self.world.facts.append({"subject": subject, "predicate": predicate, "object": value, "source": path})

    def _ask(self, category: str, kind: str, short: str, note: Note) -> None:
        self.world.questions.append(Asked(QUESTIONS[kind][self.place].format(x=short), note.path, category))


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def _table(name: str, row: dict[str, object] | dict[str, str]) -> str:
    shown: Sequence[str] = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in row.items()]
    return f"[[{name}]]\n" + "\n".join(shown) + "\n"
