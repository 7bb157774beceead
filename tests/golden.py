"""Golden answers: recalls, command output and log files that a refactoring must not change.

``python -m tests.golden record FILE`` writes what the installed program answers; ``python -m tests.golden compare FILE``
answers again and lists every difference. Only `lamina`'s public names and its command line are used, so one file may be
recorded by one tree and compared with another: run the script with either interpreter, from a tree that has the script.
The same machine is needed for equality to the last bit (``--tolerance`` loosens scores), and the same ``../shared/data``.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import fcntl
import gzip
import hashlib
import io
import itertools
import json
import os
import random
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest import mock

if TYPE_CHECKING:
    from lamina import FixedClock, Hits, Vault

DATA: Final = Path(__file__).parents[1] / "../shared/data"
DAY_S: Final = 86_400
START: Final = "2026-01-05T09:00:00Z"
MOMENTS: Final = ("2026-01-06", "2026-01-20T12:00:00Z", "2026-02-10", "2026-02-25T08:00:00Z")
"""Moments of recorded time between the writes of the made-up vault."""
NOW: Final = "2026-03-01T12:00:00Z"
RECALLS: Final = 1_000
NOTES: Final = 300
"""Notes taken from the real notes vault."""

MASKED: Final = frozenset(
    {"took_ms", "latency_ms", "snapshot", "seconds", "bytes", "bytes_before", "bytes_after", "rate", "generation"}
)
"""Keys whose values measure the run, the disk or the program, at any depth; and ``version`` where it counts manifests."""


class Allowed(NamedTuple):
    """A difference that a later tree may show."""

    where: str
    """Regular expression that the difference's path has to match from its beginning."""
    why: str
    within: float = float("inf")
    """Largest relative difference of two numbers; by default everything is allowed there."""


ALLOWED: Final = (
    Allowed(r"commands/stats.*/indexes\b", "stats describes the indexes of its own program: they are derived data"),
    Allowed(r"commands/reindex.*/gate/", "the gate of a reindex counts the indexes of its own program"),
    Allowed(r"commands/verify.*/checked/indexes", "verify counts the files of its own program's indexes"),
    Allowed(r"commands/backup.*/indexes", "backup names the indexes of its own program"),
    Allowed(
        r"(recalls|commands)/.*/(terms/\w+|score)$",
        "powers of one half are within a last bit of the correctly rounded ones, by one kernel for all",
        within=4e-15,
    ),
    Allowed(
        r'recalls/[\w-]+ \{"query": "(yesterday|three weeks ago)"',
        "a question with nothing but a time in it is answered by every chunk near that time",
    ),
    Allowed(
        r'recalls/[\w-]+ \{"query": "(where does Linus live|up new version: pkill|Create internal/toon|pointing to the shared'
        r"|cmd/bd/init.go checks|```bash)",
        "words that no row holds are corrected: linus, pkill, toon, beads in the past",
    ),
    Allowed(r"recalls/odd-", "misspelt words are expanded, and quotes and signs are operators"),
    Allowed(r".*/(snippet|snippets|created_at_us)$", "results gain snippets and instants in microseconds"),
)


# ---------------------------------------------------------------------- made-up material

SUBJECTS: Final = (
    "PostgreSQL migration", "login service", "nightly build", "vector index", "billing export", "retry policy",
    "session cache", "search ranking", "release checklist", "mobile client", "rate limiter", "audit log", "feature flags",
    "backup job", "error budget", "message queue",
)  # fmt: skip
PEOPLE: Final = ("Ada Lovelace", "Grace Hopper", "Linus", "Barbara", "Edsger", "Margaret Hamilton")
VERBS: Final = ("blocked", "fixed", "replaced", "measured", "reverted", "documented", "broke", "shipped")
REASONS: Final = (
    "because the connection pool ran dry", "after the outage last Tuesday", "since the tests were flaky",
    "to cut the latency in half", "because nobody owned it", "so that a restart loses nothing",
    "before the move to Kubernetes", "as the vendor raised the price",
)  # fmt: skip
DETAILS: Final = (
    "The dashboard showed {n} errors per minute in `worker_{n}.py`.", "We keep the old path behind flag use_v{n}.",
    "See issue #{n} and the notes of the meeting.", "Throughput rose from {n} to {m} requests per second.",
    "The parser in src/lexer/token_{n}.rs needs a second look.", "Rollback takes {n} minutes, {m} at worst.",
    "Der Umzug dauerte {n} Stunden.", "缓存 命中率 {n}%", "Café menus are cached for {n} seconds.",
)  # fmt: skip
TYPES: Final = ("decision", "note", "agent_task", "guideline", "agent_insight", "github_issue", "rule")
COLLECTIONS: Final = ("decisions", "notes", "code-patterns", "conventions", "discussions")
PROJECTS: Final = ("api", "web", "infra", None)


def sentence(chance: random.Random) -> str:
    """Return one made-up statement."""
    return f"{chance.choice(PEOPLE)} {chance.choice(VERBS)} the {chance.choice(SUBJECTS)} {chance.choice(REASONS)}."


def records(chance: random.Random, start: int, count: int, at: str) -> list[dict[str, Any]]:
    """Return made-up records; a few repeat an earlier text, have no date, or come from a session."""
    out: list[dict[str, Any]] = []
    for i in range(start, start + count):
        details = (
            text.format(n=chance.randint(2, 90), m=chance.randint(100, 900)) for text in chance.sample(DETAILS, 3)
        )
        text = " ".join((sentence(chance), *details, sentence(chance)))
        record: dict[str, Any] = {
            "id": f"made-{i:04d}", "text": text, "type": chance.choice(TYPES), "collection": chance.choice(COLLECTIONS),
            "project": chance.choice(PROJECTS), "tags": chance.sample(["db", "ops", "ui", "perf"], chance.randint(0, 2)),
            "created_at": (moment(at) - datetime.timedelta(hours=chance.randint(1, 4000))).isoformat(),
            "metadata": {"owner": chance.choice(PEOPLE), "points": chance.randint(1, 13)},
        }  # fmt: skip
        if i % 5 == 0:
            record |= {"session": f"session-{i // 50}", "agent": chance.choice(["claude", "codex"])}
        if i % 7 == 0:
            record |= {"title": f"{chance.choice(SUBJECTS).title()} {i}", "source": f"docs/{i % 21}.md"}
        if i % 11 == 0:
            del record["created_at"]
        if i % 13 == 0 and out:
            record["text"] = out[-1]["text"] + " Once more."
        out.append({name: value for name, value in record.items() if value is not None})
    return out


def moment(text: str) -> datetime.datetime:
    """Parse an ISO 8601 instant or date as UTC."""
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


def note(chance: random.Random, name: str, others: Sequence[str]) -> str:
    """Return a Markdown note with frontmatter, headings, fields and wikilinks."""
    paragraphs = [" ".join(sentence(chance) for _ in range(6)) for _ in range(3)]
    return (
        f"---\ntitle: {name.title()}\ntags: [note, {name.split()[0]}]\ndate: 2025-1{chance.randint(0, 2)}-14\n---\n\n"
        f"# {name.title()}\n\n{paragraphs[0]} See [[{chance.choice(others)}]].\n\nowner:: {chance.choice(PEOPLE)}\n\n"
        f"## Why\n\n{paragraphs[1]}\n\n## Next\n\n{paragraphs[2]}\n\n```python\ndef run_{len(name)}():\n    return 1\n```\n"
    )


def transcript(chance: random.Random, session: str, turns: int) -> str:
    """Return a transcript in Claude Code's form."""
    lines, parent = [], None
    for i in range(turns):
        for role, text in (
            ("user", f"Why was the {chance.choice(SUBJECTS)} slow?"),
            ("assistant", sentence(chance) * 4),
        ):
            name = f"{session}-{role[0]}{i}"
            content: Any = text if role == "user" else [{"type": "text", "text": text}]
            lines.append({
                "type": role, "uuid": name, "parentUuid": parent, "sessionId": session, "isSidechain": False, "cwd": "/made",
                "timestamp": f"2026-01-1{i % 10}T10:{i % 60:02d}:0{'05'[role == 'assistant']}.000Z",
                "message": {"role": role, "content": content},
            })  # fmt: skip
            parent = name
    return "".join(json.dumps(line) + "\n" for line in lines)


def write(path: Path, text: str) -> Path:
    """Write a file with a modification time that follows from its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    settle(path)
    return path


def settle(path: Path) -> None:
    """Give a file a modification time that follows from its name."""
    seconds = 1_735_689_600 + int.from_bytes(hashlib.sha256(path.name.encode()).digest()[:3], "big")
    os.utime(path, ns=(seconds * 10**9, seconds * 10**9))


def git(folder: Path, *arguments: str, date_s: int = 1_760_000_000) -> None:
    """Run git with a fixed author, date and configuration."""
    who = {f"GIT_{role}_{what}": "golden@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": f"{date_s} +0000", "GIT_COMMITTER_DATE": f"{date_s} +0000"}
    env = os.environ | who | dates | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "-C", str(folder), *arguments], env=env, check=True, capture_output=True)


def write_material(root: Path) -> None:
    """Write the files that the vaults read: notes under git, a transcript, tasks, issues, facts and a labelled set."""
    chance = random.Random(15)
    names = [subject.lower() for subject in SUBJECTS[:12]]
    for name in names:
        write(root / "notes" / f"{name}.md", note(chance, name, names))
    git(root / "notes", "init", "-q", "-b", "main")
    git(root / "notes", "add", "-A")
    git(root / "notes", "commit", "-q", "-m", "notes")
    write(root / "sessions" / "11111111-2222-3333-4444-555555555555.jsonl", transcript(chance, "made-session", 8))
    nodes = {
        f"t{i}": {"task_id": f"t{i}", "title": f"Task {i}: {chance.choice(SUBJECTS)}", "description": sentence(chance),
                  "timestamp": 1.769e9 + i * 3_600, "success": i % 3 != 0}
        for i in range(12)
    }  # fmt: skip
    edges = [
        {"source_id": f"t{i}", "target_id": f"t{i // 2}", "relationship": relation, "created_at": 1.769e9, "note": ""}
        for i, relation in zip(range(2, 12), itertools.cycle(["blocks", "related_to", "derived_from"]), strict=False)
    ]
    meta = {"saved_at": 1.77e9, "node_count": len(nodes), "edge_count": len(edges)}
    write(root / "tasks.json", json.dumps({"nodes": nodes, "edges": edges, "_meta": meta}))
    issues = [
        {"id": f"bd-{i}", "title": f"{chance.choice(VERBS)} {chance.choice(SUBJECTS)}", "description": sentence(chance),
         "status": "open" if i % 3 else "closed", "issue_type": "bug", "created_at": "2025-12-16T18:17:18Z",
         "updated_at": "2025-12-17T18:17:18Z",
         "dependencies": [{"issue_id": f"bd-{i}", "depends_on_id": f"bd-{i // 2}", "type": "blocks"}] if i > 1 else []}
        for i in range(10)
    ]  # fmt: skip
    write(root / "issues.jsonl", "".join(json.dumps(issue) + "\n" for issue in issues))
    team = "".join(
        f'[[entities]]\nname = "{name}"\ntype = "person"\naliases = ["{name.split()[0]} of {i}"]\n'
        f'facts = {{ phone = "{i}{i}", works_on = "{SUBJECTS[i]}", lives_in = "Town {i}" }}\n'
        for i, name in enumerate(PEOPLE)
    )
    write(root / "team.toml", team)
    write(root / "observed.txt", f"<observation>\n<type>decision</type>\n<title>{SUBJECTS[0]}</title>\n<facts>\n"
          "<fact>Harbor uses PostgreSQL</fact>\n<fact>Ada Lovelace owns Harbor</fact>\n</facts>\n<triples>\n<triple>\n"
          "<subject>Harbor</subject><predicate>depends_on</predicate><object>PostgreSQL</object>\n</triple>\n</triples>\n"
          "</observation>\n")  # fmt: skip
    lines: list[dict[str, Any]] = [
        {"kind": "record", "id": f"r{i}", "text": sentence(chance), "created_at": f"2026-01-{i + 1:02d}"}
        for i in range(20)
    ]
    lines += [{"kind": "query", "text": line["text"].split(" because")[0], "gold": [line["id"]]} for line in lines[:8]]
    write(root / "set.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    with contextlib.closing(sqlite3.connect(root / "facts.db")) as database:
        database.executescript(
            "CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, entity TEXT NOT NULL, key TEXT NOT NULL,"
            " value TEXT NOT NULL, category TEXT NOT NULL, source TEXT, created_at TEXT);"
            "CREATE TABLE relations (id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, predicate TEXT NOT NULL,"
            " object TEXT NOT NULL, weight REAL DEFAULT 1.0, source TEXT);"
            "CREATE TABLE aliases (id INTEGER PRIMARY KEY AUTOINCREMENT, alias TEXT NOT NULL, entity TEXT NOT NULL);"
        )
        database.executemany(
            "INSERT INTO facts (entity, key, value, category, source, created_at) VALUES (?,?,?,?,?,?)",
            [(f"Harbor {i}", "status", "beta", "project", "harbor.md", f"2026-01-0{i + 1} 10:00:00") for i in range(5)]
            + [("Ada Lovelace", "phone", "44", "person", "family.md", "2026-01-02 10:00:00")],
        )
        database.execute(
            "INSERT INTO relations (subject, predicate, object, source) VALUES ('Ada Lovelace','owns','Harbor 1','a.md')"
        )
        database.execute("INSERT INTO aliases (alias, entity) VALUES ('Countess','Ada Lovelace')")
        database.commit()


# ---------------------------------------------------------------------- vaults


def build_made(root: Path, clock: FixedClock, count: int) -> Vault:
    """Build the made-up vault: five batches of records at five moments, changes between them, facts, links and topics."""
    import lamina

    chance = random.Random(7)
    vault = lamina.open(root / "made", create=True, clock=clock, embedder="wordllama")
    share = count // 5
    for batch, at in enumerate((START, *MOMENTS)):
        advance(clock, at)
        clock.advance(3_600)
        vault.add(records(chance, batch * share, share, at))
        if batch == 1:
            vault.ingest(root / "notes", facts=True)
            vault.facts.seed(root / "team.toml")
        elif batch == 2:
            for i in range(0, share, 9):
                vault.invalidate(f"made-{i:04d}", "no longer true")
            vault.update("made-0001", text=sentence(chance))
            vault.pin("made-0002")
            vault.ingest(root / "sessions", kind="sessions")
            vault.ingest(root / "tasks.json", kind="tasks")
        elif batch == 3:
            vault.restore("made-0009")
            vault.link("made-0003", "made-0004", "causal", weight=0.8)
            vault.link("made-0005", "made-0006", "contradicts")
            vault.ingest(root / "issues.jsonl", kind="beads")
            vault.facts.load(root / "facts.db")
            vault.facts.add("Ada Lovelace", "works_on", "retry policy", valid_from="2026-02-01")
            vault.facts.close("Grace Hopper", "lives_in", valid_to="2026-02-02")
        elif batch == 4:
            vault.build_links(["sequence", "temporal", "semantic", "entity", "similar", "wikilinks"])
            vault.cluster()
    advance(clock, NOW)
    return vault


def build_real(root: Path, clock: FixedClock) -> Vault:
    """Build a vault of real notes, sessions and issues."""
    import lamina

    clone = root / "til"
    git(root, "clone", "-q", str((DATA / "notes-vault/til.bundle").resolve()), str(clone))
    pages = sorted(clone.rglob("*.md"))
    step = max(1, len(pages) // NOTES)
    for path in pages[::step]:
        target = root / "real-notes" / path.relative_to(clone)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        settle(target)
    sessions = root / "real-sessions"
    sessions.mkdir()
    for path in sorted((DATA / "sessions").glob("*.jsonl")):
        settle(Path(shutil.copyfile(path, sessions / path.name)))
    issues = root / "real-issues.jsonl"
    write(issues, gzip.decompress((DATA / "beads/issues.jsonl.gz").read_bytes()).decode())
    vault = lamina.open(root / "real", create=True, clock=clock, embedder="wordllama")
    advance(clock, START)
    vault.ingest(root / "real-notes")
    advance(clock, MOMENTS[1])
    vault.ingest(sessions, kind="sessions")
    clock.advance(3_600)
    vault.ingest(issues, kind="beads")
    vault.cluster()
    advance(clock, NOW)
    return vault


def advance(clock: FixedClock, to: str) -> None:
    """Set a clock that stands before a moment to it."""
    clock.advance(moment(to).timestamp() - clock.now_us() / 1e6)


# ---------------------------------------------------------------------- recalls

PROFILES: Final = (None, "default", "lexical", "temporal", "task", "causal", "episodic", "entity")
WHERES: Final[Mapping[str, tuple[dict[str, Any] | None, ...]]] = {
    "made": (
        None, None, None, None, {"project": "api"}, {"type": {"in": ["decision", "note"]}}, {"collection": {"ne": "notes"}},
        {"NOT": {"project": "web"}}, {"metadata.owner": "Linus"}, {"tags": {"contains": "db"}},
        {"OR": [{"project": "infra"}, {"type": "rule"}]}, {"session": {"exists": True}},
        {"status": {"in": ["active", "invalidated"]}}, {"created_at": {"gte": "2025-11-01"}}, {"metadata.points": {"gte": 8}},
    ),
    "real": (
        None, None, None, None, {"type": "note"}, {"collection": {"ne": "notes"}}, {"session": {"exists": True}},
        {"source": {"contains": "git/"}}, {"OR": [{"session": {"exists": True}}, {"title": {"contains": "Vim"}}]},
        {"NOT": {"title": {"contains": "git"}}}, {"source": "nowhere.md"},
    ),
}  # fmt: skip
QUESTIONS: Final = (
    "why was the login service slow", "what did Grace Hopper document", "who owns Harbor 1", "when was the nightly build fixed",
    "what did we decide last Tuesday", "notes from January about the message queue", "Ada Lovelace phone", "rollback minutes",
    "what happened before the migration", "the", "缓存 命中率", "Umzug", "café", "worker_17.py", "issue #42", "src/lexer/token_9.rs",
    "where does Linus live", "connection pool ran dry", "yesterday", "vector index", "three weeks ago", "what blocks Task 4",
)  # fmt: skip
ODD: Final = (
    "postgers migratoin", '"connection pool"', "rollback -minutes", "+audit +log", "retr*", "latncy~1", 'a stray " quote',
    "- + *", "title:backup", "zzzqqq", "",
)  # fmt: skip


def arguments(chance: random.Random, vault: str, texts: Sequence[str], sessions: Sequence[str]) -> dict[str, Any]:
    """Draw the arguments of one recall."""
    words = chance.choice(texts).split()
    first = chance.randrange(max(1, len(words) - 6))
    taken = " ".join(words[first : first + chance.randint(1, 7)]).replace('"', " ").replace("*", " ").strip("+-~ ")
    since, until = chance.choice(
        [(None, None)] * 6 + [("2025-10-01", None), (None, "2026-01-10"), ("2025-11-01", "2026-02-01")]
    )
    drawn = {
        "query": chance.choice(QUESTIONS) if chance.random() < 0.4 else taken,
        "k": chance.choice([1, 3, 5, 10, 10, 10, 20, 50]), "profile": chance.choice(PROFILES),
        "where": chance.choice(WHERES[vault]), "since": since, "until": until,
        "as_of": chance.choice([None] * 5 + list(MOMENTS)), "now": chance.choice([None] * 5 + ["2026-02-14", "2026-06-01"]),
        "token_budget": chance.choice([None] * 6 + [150, 600, 4_000]),
        "lanes": chance.choice([None] * 12 + [["lexical"], ["vector"], ["lexical", "vector"], ["vector", "facts"], ["facts"]]),
        "intent": chance.choice([None] * 6 + ["why", "when", "entity", "what"]),
        "session": chance.choice(sessions) if chance.random() < 0.1 else None,
        "time": chance.choice([None] * 6 + ["prefer", "filter", "off"]),
        "tz": chance.choice([None] * 6 + ["Europe/Berlin", "America/New_York"]),
    }  # fmt: skip
    return {name: value for name, value in drawn.items() if value is not None}


def ask(vault: Vault, **given: Any) -> Any:
    """Return what a recall gives, or the class of its error."""
    query = given.pop("query")
    try:
        return plain_hits(vault.recall(query, **given))
    except Exception as error:
        return {"error": type(error).__name__}


def plain_hits(hits: Hits) -> dict[str, Any]:
    """Return hits as JSON values: identities, scores and terms as they are, long texts as digests."""
    shown = ("id", "score", "type", "status", "freshness", "via", "needs_review", "created_at", "recorded_at", "terms")
    told = ("text", "source", "title", "collection", "project", "session", "metadata")
    out = []
    for hit in hits:
        values = {name: plain(getattr(hit, name)) for name in shown}
        rest = json.dumps([plain(getattr(hit, name)) for name in told], sort_keys=True)
        out.append({**values, "rest": digest(rest.encode())})
    return {"profile": hits.profile, "as_of": plain(hits.as_of), "hits": out}


def plain(value: Any) -> Any:
    """Return a value of a result as JSON would have it; instants as ISO 8601 with Z, like the command line prints them."""
    if isinstance(value, datetime.datetime):
        instant = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return instant.isoformat(timespec="microseconds" if instant.microsecond else "seconds") + "Z"
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return {name: plain(getattr(value, name)) for name in getattr(value, "__struct_fields__", ())} or str(value)


def digest(content: bytes) -> str:
    """Return a short digest."""
    return hashlib.sha256(content).hexdigest()[:16]


def record_recalls(vaults: Mapping[str, Vault], count: int) -> dict[str, Any]:
    """Ask every vault its share of the questions."""
    out = {}
    for name, vault in vaults.items():
        chance = random.Random(name)
        chunks = vault.list(limit=None)
        texts = [chunk.text for chunk in chunks]
        sessions = sorted({chunk.session for chunk in chunks if chunk.session}) or ["none"]
        for i in range(count // len(vaults)):
            given = arguments(chance, name, texts, sessions)
            label = "odd" if i % 40 == 39 else "plain"
            if label == "odd":
                given["query"] = ODD[i // 40 % len(ODD)]
            given = {"query": "", **given}
            out[f"{label}-{name}-{i:04d} {json.dumps(given, ensure_ascii=False)}"] = ask(vault, **given)
    return out


# ---------------------------------------------------------------------- commands

Scene = Sequence[tuple[str, ...]]


def scene(root: Path) -> Scene:
    """Return one run of every command, in an order in which each has something to work on."""
    rows: list[tuple[str, ...]] = [
        ("init", "--name", "golden", "--tz", "Europe/Berlin"),
        ("ingest", str(root / "notes"), "--facts"),
        ("ingest", str(root / "notes")),
        ("ingest", str(root / "sessions"), "--kind", "sessions"),
        ("ingest", str(root / "tasks.json"), "--kind", "tasks"),
        ("ingest", str(root / "issues.jsonl"), "--kind", "beads"),
    ]
    rows += [
        ("add", f"{subject}: decided to keep it, {REASONS[i % 8]}.", "--id", f"c{i}", "--type", "decision", "--project", "api",
         "--created-at", f"2026-02-{i + 1:02d}", "--session", f"s{i // 4}")
        for i, subject in enumerate(SUBJECTS)
    ]  # fmt: skip
    query = "why did we keep the retry policy"
    rows += [
        ("recall", query), ("recall", query, "-k", "3", "--profile", "temporal", "--explain"),
        ("recall", query, "--where", '{"project": "api"}', "--since", "2026-02-03", "--until", "2026-02-20"),
        ("recall", query, "--lane", "lexical", "--token-budget", "100", "--now", "2026-03-01"),
        *(("recall", "login service slow", "--profile", str(name)) for name in PROFILES[1:]),
        ("get", "c1"), ("get", "nothing"), ("list", "--limit", "5"), ("list", "--type", "decision"), ("history", "c1"),
        ("facts", "seed", str(root / "team.toml")), ("facts", "import", str(root / "facts.db")),
        ("facts", "add", "Linus", "works_on", "audit log", "--valid-from", "2026-01-01"),
        ("facts", "add", "Linus", "phone", "99", "--source", "later.md"),
        ("facts", "alias", "The Admiral", "Grace Hopper"), ("facts", "about", "The Admiral"),
        ("facts", "about", "Linus", "--history"), ("facts", "ask", "who owns Harbor 1"), ("facts", "ask", "Linus phone"),
        ("facts", "entity", "Ada"), ("facts", "entity", "nobody"), ("facts", "extract", str(root / "observed.txt")),
        ("facts", "extract"), ("facts", "contradictions"), ("facts", "close", "Linus", "works_on"),
        ("facts", "merge", "Harbor 1", "Harbor 2"), ("facts", "alias", "The Admiral", "--remove"),
        ("links", "add", "c1", "c2", "causal", "--note", "seen"), ("links", "build", "sequence", "semantic", "entity"),
        ("links", "build", "similar", "wikilinks", "--similar-threshold", "0.6"), ("links", "show", "c1"),
        ("links", "used", "c1", "c2"), ("traverse", query), ("traverse", "--from", "c1", "--depth", "3"), ("causes", "c2"),
        ("chain", query), ("chain", "--from", "c3", "--forward"), ("timeline", "c3"), ("similar", "c3"),
        ("invalidate", "c4", "--reason", "replaced"), ("restore", "c4"), ("pin", "c5"), ("pin", "c5", "--unpin"),
        ("review", "c6", "--reason", "check it"), ("snooze", "c7", "--until", "2026-04-01"), ("freshness",),
        ("freshness", "--repo", str(root / "notes")), ("refresh", "--tier", "stale"), ("archive", "--after-days", "30"),
        ("sessions",), ("reconstruct", "s1"), ("reconstruct", "--days", "60", "--briefing"), ("cluster",),
        ("topics",), ("context", "bootstrap"), ("context", "turn", query, "--session", "s9"),
        ("context", "turn", query, "--session", "s9"), ("stats",), ("verify",), ("verify", "--deep"),
        *(("export", str(root / f"out.{name}"), "--format", name) for name in ("jsonl", "parquet", "clawpy", "graph-json", "facts")),
        ("eval", str(root / "set.jsonl"), "-k", "5", "--profile", "default"), ("forget", "c8"), ("forget", "c8", "--yes"),
        ("get", "c8"), ("compact",), ("backup", str(root / "copy")), ("reindex",), ("recall", query), ("demo",),
        ("recall", query, "--profile", "nonsense"), ("stats", "--nonsense"),
    ]  # fmt: skip
    return rows


def run_command(vault: Path, line: Sequence[str]) -> dict[str, Any]:
    """Run a command in this process; return its exit code, and its JSON or the digest of its text."""
    from lamina.cli import main

    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    errors = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main([*line, "--json", "--vault", str(vault)])
    out.seek(0)
    text = out.read()
    try:
        return {"exit": code, "out": json.loads(text) if text else None}
    except ValueError:
        return {"exit": code, "out": text.splitlines()}


def record_commands(root: Path, lines: Scene) -> dict[str, Any]:
    """Run all commands on a vault of their own, the machine's clock standing still but for a minute between two."""
    vault, out = root / "commands", {}
    ticks = itertools.count()
    start = seconds = int(moment(NOW).timestamp())

    def now() -> float:
        return float(seconds)

    def now_ns() -> int:
        return seconds * 10**9

    def token(n: int = 8) -> str:  # names an erased chunk
        return f"{seconds:0{2 * n}x}"

    with (
        mock.patch.object(time, "time", now),
        mock.patch.object(time, "time_ns", now_ns),
        mock.patch.object(secrets, "token_hex", token),
    ):
        for line in lines:
            seconds = start + 60 * next(ticks)
            name = " ".join(line).replace(str(root), "ROOT")
            got = masked(run_command(vault, line), root)
            out[name if name not in out else f"{name} (again at {seconds - start} s)"] = got
    for path in sorted(root.glob("out.*")):
        content = path.read_bytes()
        out[f"file {path.name}"] = content.decode().splitlines() if path.suffix != ".parquet" else len(content) > 0
    return out


def masked(value: Any, root: Path) -> Any:
    """Return JSON values without what measures the run: see `MASKED`; the working folder as ROOT."""
    if isinstance(value, dict):
        return {
            key.replace(str(root), "ROOT"): "masked"
            if key in MASKED or key.endswith(("_s", "_ms"))
            else masked(item, root)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [masked(item, root) for item in value]
    return value.replace(str(root), "ROOT") if isinstance(value, str) else value


def is_masked(key: str, value: Any) -> bool:
    """Tell whether a value measures the run."""
    return key in MASKED or (key == "version" and isinstance(value, int))


def record_logs(root: Path) -> dict[str, Any]:
    """Return size and digest of every log file of every vault."""
    paths = sorted(
        path for vault in ("made", "real", "commands") for path in (root / vault / "log").rglob("*") if path.is_file()
    )
    return {str(path.relative_to(root)): f"{path.stat().st_size} {digest(path.read_bytes())}" for path in paths}


# ---------------------------------------------------------------------- record and compare


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Yield an empty folder that has the same name in every run: some logs hold absolute paths."""
    root = Path(tempfile.gettempdir()) / f"lamina-golden-{os.getuid()}"
    root.mkdir(exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits
        work = root / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        before = Path.cwd()
        os.chdir(work)
        unset = [name for name in os.environ if name.startswith(("LAMINA_", "DECAY_", "FRESHNESS_", "INJECTION_"))]
        home = {"HOME": str(work), "GIT_CONFIG_GLOBAL": os.devnull, "COLUMNS": "100"}
        with mock.patch.dict(os.environ, home):
            for name in unset:
                del os.environ[name]
            try:
                yield work
            finally:
                os.chdir(before)
                shutil.rmtree(work, ignore_errors=True)


def record(*, recalls: int = RECALLS, commands: bool = True, real: bool = True) -> dict[str, Any]:
    """Build the vaults and return all answers as one JSON object."""
    from lamina import FixedClock

    real = real and DATA.is_dir()
    with workplace() as root:
        write_material(root)
        with contextlib.ExitStack() as stack:
            vaults = {"made": stack.enter_context(build_made(root, FixedClock(START), 600 if real else 200))}
            if real:
                vaults["real"] = stack.enter_context(build_real(root, FixedClock(START)))
            answers = record_recalls(vaults, recalls)
        ran = record_commands(root, scene(root) if commands else scene(root)[:8])
        return {"data": real, "recalls": answers, "commands": ran, "logs": record_logs(root)}


class Difference(NamedTuple):
    """Two values at one path; ABSENT where one side has none."""

    where: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.where}: {short(self.old)} -> {short(self.new)}"

    def is_within(self, share: float) -> bool:
        """Tell whether two numbers differ by no more than a share of the larger."""
        if share == float("inf"):
            return True
        numbers = isinstance(self.old, float) and isinstance(self.new, float)
        return numbers and abs(self.old - self.new) <= share * max(abs(self.old), abs(self.new))


ABSENT: Final = "(absent)"


def differences(old: Any, new: Any, where: str = "") -> Iterator[Difference]:
    """Yield every difference of two JSON values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), f"{where}/{key}" if where else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{where}/{i}")
    elif old != new:
        yield Difference(where, old, new)


def short(value: Any) -> str:
    """Return a value in at most 160 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."


def compare(old: Any, new: Any, *, tolerance: float = 0.0) -> tuple[list[Difference], dict[str, int]]:
    """Return the differences that nothing allows, and how many each allowance explains."""
    rest: list[Difference] = []
    explained = dict.fromkeys((allowed.why for allowed in ALLOWED), 0)
    for difference in differences(old, new):
        for allowed in ALLOWED:
            if re.match(allowed.where, difference.where) and difference.is_within(allowed.within):
                explained[allowed.why] += 1
                break
        else:
            if not difference.is_within(tolerance):
                rest.append(difference)
    return rest, explained


def main(given: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    """Run the command line of this script; return 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--tolerance", type=float, default=0.0, help="largest relative difference of two numbers (default 0)"
    )
    parser.add_argument("--most", type=int, default=60, help="differences to print (default 60)")
    options = parser.parse_args(given)
    path = options.file.resolve()
    answers = json.loads(json.dumps(record()))
    if options.action == "record":
        path.write_text(json.dumps(answers, ensure_ascii=False, indent=0), encoding="utf-8")
        say(f"{len(answers['recalls'])} recalls, {len(answers['commands'])} commands, {len(answers['logs'])} log files")
        return 0
    old = json.loads(path.read_text(encoding="utf-8"))
    if old["data"] != answers["data"]:
        say(
            f"recorded {'with' if old['data'] else 'without'} ../shared/data, compared {'with' if answers['data'] else 'without'}"
        )
        return 1
    found, explained = compare(old, answers, tolerance=options.tolerance)
    for line in found[: options.most]:
        say(str(line))
    for why, count in explained.items():
        if count:
            say(f"allowed: {count} x {why}")
    say(f"{len(found)} differences" if len(found) != 1 else "1 difference")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
