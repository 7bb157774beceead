"""``lamina eval``: recall quality on a labelled set."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.evaluation import EvaluationQuery, EvaluationReport, EvaluationSet, evaluate, load_set
from lamina_engine.profiles import BUILT_IN

from lamina.cli.command import Call, EmbedderOption, command
from lamina.cli.embedders import chosen_embedder
from lamina.cli.terminal import bold
from lamina.vault import Vault, open_vault

if TYPE_CHECKING:
    from collections.abc import Callable

_ALL: Final = "all"
_CUTS: Final = (1, 5, 10)


@command("lamina eval set.jsonl", "lamina eval locomo.json --profile all -k 1 -k 10 --json")
def eval_(
    call: Call,
    path: Annotated[Path, typer.Argument(metavar="SET", help="A labelled set: JSON lines, LoCoMo or HotpotQA.", show_default=False)],
    profile: Annotated[list[str] | None, typer.Option("--profile", help="May be repeated; all for every built-in one.", show_default=False)] = None,
    k: Annotated[list[int] | None, typer.Option("-k", help="Cut of the measures; may be repeated; 1, 5 and 10 unless given.", show_default=False)] = None,
    now: Annotated[
        str | None, typer.Option("--now", metavar="DATE", help="The moment ages count to; the newest record's unless given.", show_default=False)
    ] = None,
    embedder: EmbedderOption = None,
) -> None:
    """Measure recall on a labelled set, with 95 % intervals.

    The set's records go into a temporary vault; a set of queries alone is asked of --vault. JSON lines are
    {"kind": "record", "id", "text", ...} and {"kind": "query", "text", "gold": [ids], "category", "where"}.
    """
    labelled = load_set(path)
    moment = now or _newest(labelled)
    names = sorted(BUILT_IN) if profile and _ALL in profile else profile or [None]
    with _vault_of(call, labelled, embedder) as vault:
        reports = [evaluate(_search(vault, name, moment), labelled, ks=k or _CUTS, counter=time.perf_counter) for name in names]
        model = vault.stats()["embedding"]
    shown = [name or "the vault's default profile" for name in names]
    document = {"set": labelled.name, "now": moment, "embedding": model, "profiles": dict(zip((name or "default" for name in names), map(_document, reports), strict=True))}
    call.answer(document, lambda: _lines(shown, reports))


def _search(vault: Vault, profile: str | None, now: str | None) -> Callable[[EvaluationQuery, int], Sequence[str]]:
    def search(query: EvaluationQuery, k: int) -> list[str]:
        return [hit.id for hit in vault.recall(query.text, k, profile=profile, where=query.where, now=now)]

    return search


@contextmanager
def _vault_of(call: Call, labelled: EvaluationSet, embedder: str | None) -> Iterator[Vault]:
    """Open a temporary vault with the set's records, or the caller's own where the set has none."""
    if not labelled.records:
        with call.open(mode="r", embedder=embedder) as vault:
            yield vault
        return
    with tempfile.TemporaryDirectory(prefix="lamina-eval-") as folder:
        with open_vault(Path(folder) / "vault", create=True, embedder=chosen_embedder(embedder)) as vault:
            vault.add(labelled.records)
            yield vault


def _newest(labelled: EvaluationSet) -> str | None:
    """Return the newest date of the records: ages count to it, so that a number stays the same next year."""
    dates = [parse_instant(given) for record in labelled.records if isinstance(given := record.get("created_at"), str | int | float)]
    return format_instant(max(dates)) if dates else None


def _document(report: EvaluationReport) -> dict[str, Any]:
    return report.to_dict()


def _lines(names: Sequence[str], reports: Sequence[EvaluationReport]) -> Iterator[str]:
    for i, (name, report) in enumerate(zip(names, reports, strict=True)):
        if i:
            yield ""
        yield bold(name)
        yield from report.table().splitlines()
