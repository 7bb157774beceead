"""Planted secrets reach no byte of a vault; what only looks like one stays. Secrets are put together at run time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index.analysis import Analyzer, term_hash
from lamina_engine.index.scoring import Bm25, WeightedQuery
from tests.engine.index.building import build_at_once
from tests.engine.redact.test_redactor import CONTEXTS, TOKENS, look_alikes, pem
from tests.notes import write

PLACES = (
    "text", "prose", "code", "fence", "title", "frontmatter", "frontmatter tag", "alias", "link", "json text", "json title",
    "json tag", "json metadata", "json session", "add text", "add metadata", "add project", "update", "reason",
)  # fmt: skip
_LONG = re.compile(r"[A-Za-z0-9]{12,}")


def secrets() -> Iterator[tuple[str, str]]:
    """A secret of its own for each place, every kind several times over."""
    kinds = list(TOKENS)
    for i in range(len(PLACES) * 6):
        yield PLACES[i % len(PLACES)], TOKENS[kinds[i % len(kinds)]]()
    for i, context in enumerate(CONTEXTS):
        yield f"context {context}", TOKENS[kinds[i]]()
    for place in ("text", "json text", "add text"):
        yield place, pem("OPENSSH PRIVATE KEY")


def plant(folder: Path, vault: Vault, planted: list[tuple[str, str]]) -> None:
    lines = []
    for i, (place, secret) in enumerate(planted):
        quoted = json.dumps(secret)
        note = {
            "text": f"# Note {i}\n\nIt is {secret} now.\n",
            "prose": f"{'Many words come before it. ' * 65}{secret} {'And many words after. ' * 60}",
            "fence": f"# Note {i}\n\n```sh\nexport X={secret}\n```\n",
            "title": f"# About {secret}\n\nText {i}.\n",
            "frontmatter": f"---\nservice: {quoted}\nmore: [{quoted}, {{deep: {quoted}}}]\n---\nText {i}.\n",
            "frontmatter tag": f"---\ntags: [a, {quoted}]\ntitle: {quoted}\n---\nText {i}.\n",
            "alias": f"---\naliases: [{quoted}]\nproject: {quoted}\n---\nText {i}.\n",
            "link": f"See [[Note {i}|{secret}]] and [[{secret}]] and [x](https://example.org/{secret}).\n",
        }.get(place)
        if note is not None:
            write(folder, f"{i}.md", note)
        elif place == "code":
            write(folder, f"{i}.py", f'client = Client("{secret}", timeout=30)  # {i}\n')
        elif place.startswith("context "):
            write(folder, f"{i}.txt", CONTEXTS[place.removeprefix("context ")](secret))
        elif place.startswith("json "):
            field = place.removeprefix("json ")
            value: object = {"text": f"It is {secret}.", "tag": [secret], "metadata": {"a": [{"b": secret}]}}.get(
                field, secret
            )
            name = {"tag": "tags"}.get(field, field)
            lines.append(json.dumps({"text": f"Line {i}.", name: value}))
        elif place == "add text":
            vault.add(f"It is {secret}.", title=secret.replace("\n", " "), tags=[secret])
        elif place == "add metadata":
            vault.add(f"Record {i}.", metadata={"k": secret, "deep": [secret, {"x": f"is {secret}"}]})
        elif place == "add project":
            vault.add(f"Record {i}.", project=secret, session=secret, agent=secret, source=secret)
        else:
            (name,) = vault.add(f"Record {i}.")
            if place == "update":
                vault.update(name, text=f"It is {secret}.", title=secret, tags=[secret], metadata={"k": secret})
            else:
                vault.invalidate(name, f"it was {secret}", stamp=secret)
    write(folder, "records.jsonl", "\n".join(lines))


def test_no_secret_is_in_any_byte_of_a_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_at_once(monkeypatch, 32)  # so that Tantivy holds nearly all of it
    planted = list(secrets())
    assert len({secret for _, secret in planted}) > 100
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock("2026-03-01")) as vault:
        plant(tmp_path / "notes", vault, planted)
        got = vault.ingest(tmp_path / "notes")
        vault.recall("anything")
        assert got.redactions >= 60
        lines = [(place, line) for place, secret in planted for line in secret.split("\n") if not line.startswith("--")]
        leaks = {
            (place, path.relative_to(tmp_path).as_posix())
            for path in (tmp_path / "v").rglob("*")
            if path.is_file()
            for data in (path.read_bytes(),)
            for place, line in lines
            if line.encode() in data
        }
        assert leaks == set()
        assert not [place for place, line in lines if line in str(got.to_dict())]
        assert _indexed(vault, [line for _, line in lines]) == set()


def _indexed(vault: Vault, planted: list[str]) -> set[str]:
    """Pieces of secrets that Tantivy or the forward lists know as words."""
    memory = vault._memory
    view = memory.view()
    rows = np.arange(view.rows)

    def frequency(stem: str) -> int:
        query = WeightedQuery((stem,), np.array([term_hash(stem)], np.uint32), np.ones(1))
        return int(np.count_nonzero(view.forward.score(rows, query, Bm25(), 1.0)))

    assert frequency("note") > 0
    analyzer = Analyzer()
    pieces = {piece for secret in planted for piece in _LONG.findall(secret) if not piece.isalpha()}
    found = {
        piece for piece in pieces for term in analyzer.query(piece) if len(term.stem) >= 10 and frequency(term.stem) > 0
    }
    for piece in sorted(pieces)[::7]:
        for hit in vault.recall(piece, k=3, lanes=["lexical"]):
            found |= {word for word in hit.terms["words"] if len(word) >= 10}
    return found


def test_what_only_looks_like_a_secret_stays(lexical_vault: Vault, tmp_path: Path) -> None:
    texts = list(dict.fromkeys(look_alikes()))
    assert len(texts) >= 1_000
    lexical_vault.add([{"id": f"r{i}", "text": text} for i, text in enumerate(texts)])
    got = lexical_vault.get_many([f"r{i}" for i in range(len(texts))])
    assert [chunk.text for chunk in got] == texts
    path = write(tmp_path, "all.txt", "\n\n".join(texts))
    assert lexical_vault.ingest(path).redactions == 0
    chunks = sorted(lexical_vault.list({"source": "all.txt"}, limit=None), key=lambda chunk: chunk.start)
    assert "".join(chunk.text for chunk in chunks) == path.read_text()


def test_an_older_version_of_a_note_leaves_no_secret_behind(lexical_vault: Vault, tmp_path: Path) -> None:
    secret = TOKENS["github-classic"]()
    folder = tmp_path / "notes"
    for text in (f"One {secret}.", "None.", f"Two {secret}!"):
        write(folder, "a.md", text)
        lexical_vault.ingest(folder)
    assert not [
        path for path in lexical_vault.path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]


def test_a_secret_given_as_an_option_is_masked_too(lexical_vault: Vault, tmp_path: Path) -> None:
    secret = TOKENS["github-classic"]()
    write(tmp_path / "notes", "a.md", "Words.")
    write(tmp_path / "notes", "r.jsonl", '{"text": "More words."}')
    lexical_vault.ingest(tmp_path / "notes", project=secret, collection=secret)
    assert {chunk.project for chunk in lexical_vault.list()} == {"[redacted:github-token]"}
    assert not [
        path for path in lexical_vault.path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]


def test_a_password_said_in_a_session_is_told_to_no_later_one(lexical_vault: Vault, tmp_path: Path) -> None:
    password = "Kx4" + "fuchs9T"
    said = [
        ("user", f"Log in to the shop with user harbor and password {password} and mend the cart total."),
        ("assistant", f"I ran `echo {password} | sudo -S systemctl restart shop`. Next: the tax of the cart."),
        ("user", f"Das Passwort ist jetzt {password}, mach mit der Steuer weiter."),
    ]
    lines = [
        {
            "type": role,
            "uuid": f"t{i}",
            "sessionId": "s1",
            "cwd": "/home/ada/shop",
            "timestamp": f"2026-03-01T10:0{i}:00Z",
            "message": {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]},
        }
        for i, (role, text) in enumerate(said)
    ]
    path = write(tmp_path, "s1.jsonl", "\n".join(map(json.dumps, lines)))
    lexical_vault.ingest(path, kind="sessions")
    lexical_vault.add(f"log in with user harbor and password {password}", type="decision")
    told = [lexical_vault.inject(question, session="s2").text for question in ("mend the cart", "log in to the shop")]
    assert "cart" in " ".join(told)
    assert password not in " ".join(told)
    assert not [
        path for path in lexical_vault.path.rglob("*") if path.is_file() and password.encode() in path.read_bytes()
    ]
