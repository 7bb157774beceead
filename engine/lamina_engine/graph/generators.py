"""Link generators by kind: run together, counted and timed; and those that follow a write."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lamina_engine.errors import InvalidArgument, LaminaError
from lamina_engine.graph import entity, mentions, references, semantic, sequence
from lamina_engine.graph import sequence as temporal
from lamina_engine.graph.found import MENTIONS
from lamina_engine.graph.log import LinkCounts
from lamina_engine.profiles import TASK_TYPES
from lamina_engine.reports import Report
from lamina_engine.store import unlinked

if TYPE_CHECKING:
    from lamina_engine.embed.chat import Budget
    from lamina_engine.executor import Executor
    from lamina_engine.judging.queue import Judge
    from lamina_engine.memory import Memory

logger = logging.getLogger(__name__)

KINDS: Final = (
    "sequence", "temporal", "semantic", "wikilinks", "markdown", "mention", "entity", "similar", "judged",
)  # fmt: skip
"""In the order in which they run."""
ON_REQUEST: Final = ("temporal",)
"""Made only when they are named: that one came after the other says little of what led to what."""
MOST_ADDED: Final = 1_024
"""An `add` of more chunks makes no links by itself."""
MOST_ROWS: Final = 4_096
"""An `add` to a vault whose log has more chunks makes none either, but for tasks."""
MOST_LINKED: Final = 1 << 17
"""Records of ingests that are linked by themselves: links look at every row, some hundred bytes each."""
_GROWTH: Final = 2.0
_MOST_INGESTED: Final = 20_000
_SHARE: Final = 8


@dataclass(frozen=True, slots=True)
class KindReport(Report):
    """Counts of one generator."""

    added: int = 0
    updated: int = 0
    withdrawn: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    note: str | None = None
    """What its user should know: that it was left out, or stopped early."""


@dataclass(slots=True)
class BuildReport(Report):
    """Counts of a build, by kind."""

    kinds: dict[str, KindReport] = field(default_factory=dict)
    seconds: float = 0.0
    unresolved: int = 0
    """Written links whose note is missing or ambiguous, where such links were built."""

    @property
    def added(self) -> int:
        """Links added, of all kinds."""
        return sum(report.added for report in self.kinds.values())

    @property
    def updated(self) -> int:
        """Links changed, of all kinds."""
        return sum(report.updated for report in self.kinds.values())

    @property
    def withdrawn(self) -> int:
        """Links withdrawn, of all kinds."""
        return sum(report.withdrawn for report in self.kinds.values())


def build(
    memory: Memory,
    kinds: Sequence[str] | None = None,
    *,
    threshold: float | None = None,
    most: int = semantic.MOST,
    similar_threshold: float | None = None,
    task_types: Sequence[str] = TASK_TYPES,
    judge: Judge | None = None,
    budget: Budget | None = None,
    executor: Executor | None = None,
) -> BuildReport:
    """Run link generators; each gives all its claims, so a second run changes nothing.

    The executor compares vectors, which takes nearly all the time in a large vault; the others read texts, here.
    """
    wanted = _check_kinds(kinds)
    waiting = memory.view().snapshot.manifest.unlinked
    if "judged" in wanted and judge is None and kinds is not None:
        from lamina_engine.judging.queue import no_judge

        raise no_judge()

    def judged_links() -> KindReport:
        from lamina_engine.graph import judged
        from lamina_engine.judging.queue import NO_JUDGE

        if judge is None:
            return KindReport(note=NO_JUDGE)
        counts, report = judged.judge_links(memory, judge, budget=budget)
        return _report_of(counts, note=report.summary())

    @functools.cache
    def written() -> references.WrittenLinks:
        return references.resolve(memory.view())

    generators: dict[str, Callable[[], LinkCounts | KindReport]] = {
        "sequence": lambda: sequence.build(memory),
        "temporal": lambda: temporal.build_temporal(memory),
        "semantic": lambda: semantic.build(memory, threshold=threshold, most=most, executor=executor),
        "entity": lambda: entity.build(memory),
        "similar": lambda: semantic.build(
            memory, threshold=similar_threshold, most=most, origin=semantic.SIMILAR, types=tuple(task_types),
            executor=executor,
        ),
        "wikilinks": lambda: references.build(memory, references.WIKI, written()),
        "markdown": lambda: references.build(memory, references.MARKDOWN, written()),
        "mention": lambda: mentions.build(memory),
        "judged": judged_links,
    }  # fmt: skip
    report = _run({kind: generators[kind] for kind in wanted})
    if {"wikilinks", "markdown"} & set(wanted):
        report.unresolved = len(written().unresolved)
    if kinds is None:  # all of them: nothing is left that an ingest would make
        _clear(memory, waiting)
    return report


def _run(generators: dict[str, Callable[[], LinkCounts | KindReport]]) -> BuildReport:
    report = BuildReport()
    started = time.perf_counter()
    for kind, generate in generators.items():
        before = time.perf_counter()
        found = generate()
        seconds = round(time.perf_counter() - before, 3)
        if isinstance(found, LinkCounts):
            report.kinds[kind] = _report_of(found, seconds)
        else:
            report.kinds[kind] = replace(found, seconds=seconds)
    report.seconds = round(time.perf_counter() - started, 3)
    return report


def _report_of(written: LinkCounts, seconds: float = 0.0, note: str | None = None) -> KindReport:
    return KindReport(written.added, written.updated, written.withdrawn, written.unchanged, seconds, note)


def _check_kinds(kinds: Sequence[str] | None) -> tuple[str, ...]:
    if kinds is None:
        return tuple(kind for kind in KINDS if kind not in ON_REQUEST)
    if isinstance(kinds, str) or not isinstance(kinds, Sequence):
        raise InvalidArgument(f"kinds={kinds!r} must be a list that names some of {', '.join(KINDS)}")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise InvalidArgument(
            f"kinds names {', '.join(map(repr, unknown)) or 'nothing'}; allowed are {', '.join(KINDS)}"
        )
    return tuple(kind for kind in KINDS if kind in kinds)


# ---------------------------------------------------------------------- after a write


def after_add(memory: Memory, added: Sequence[str], *, links: bool = True) -> BuildReport | None:
    """Make the links that `add` is worth waiting for; None where there are none to make now.

    Tasks are linked to similar ones at once. With ``links``, so are links that the texts hold; mentions and entities are
    made again when the rows of the chunks log pass a power of 2: all the passes together cost two of the last one. What
    came since waits for a later `add`, an `ingest`, or `build`. A call that writes more than `MOST_ADDED` chunks leaves all
    of it to those, and mentions wait in a log of more than `MOST_ROWS`.
    """
    if not 0 < len(added) <= MOST_ADDED:
        return None
    view = memory.view()
    after, before = view.rows, max(view.rows - len(added), 0)
    generators: dict[str, Callable[[], LinkCounts | KindReport]] = {}
    if view.vector_rows and semantic.has_types(view, added, TASK_TYPES):
        generators["similar"] = lambda: semantic.link_new(memory, added, TASK_TYPES)
    if links and references.hold_links(view, added):
        generators["written"] = lambda: references.link_added(memory, added)
    if links and after <= MOST_ROWS and _crosses_power(before, after):
        generators |= {"mention": lambda: mentions.build(memory), "entity": lambda: entity.build(memory)}
    return _run_or_warn(memory, lambda: _run(generators)) if generators else None


def after_ingest(memory: Memory, changed: int, *, tasks_only: bool = False) -> BuildReport | None:
    """Generate links after ingest; None if nothing changed.

    Each generator looks at the whole vault, so afterwards `build` changes nothing but for what waits for it. Written links
    never wait, nor do mentions once a build has made them. In a log of more than 20,000 chunks sequences and entities wait
    until an eighth of it changes at once, in one of more than `MOST_ROWS` semantic links wait in any case: their cost grows
    with the square.
    """
    if not changed:
        return None
    view = memory.view()
    if tasks_only:
        return _run_or_warn(memory, lambda: build(memory, ["similar"])) if view.vector_rows else BuildReport()
    kinds = ["wikilinks", "markdown"]
    if view.rows <= _MOST_INGESTED or changed * _SHARE >= view.rows:
        kinds += ["sequence", "mention", "entity"]
    elif MENTIONS in view.snapshot.manifest.indexes:  # little is looked for again
        kinds.append("mention")
    if view.rows <= MOST_ROWS and view.vector_rows:
        kinds += ["semantic", "similar"]
    return _run_or_warn(memory, lambda: build(memory, kinds))


def link_unlinked(memory: Memory) -> tuple[BuildReport | None, int]:
    """Generate the links that this ingest, and interrupted ones before it, left to be made.

    Return what was built, None where nothing waits or that failed, and the number of records that are too many to be linked
    by themselves. What waits is cleared afterwards, so whoever is interrupted in here leaves it to the next ingest.
    """
    waiting = memory.view().snapshot.manifest.unlinked
    if not waiting:
        return None, 0
    records = waiting.get(unlinked.RECORDS, 0)
    left = records if records > MOST_LINKED else 0
    changed = waiting.get(unlinked.DOCUMENTS, 0) + records - left
    built: BuildReport | None = BuildReport()
    if changed:
        built = after_ingest(memory, changed + waiting.get(unlinked.TASKS, 0))
    elif waiting.get(unlinked.TASKS):
        built = after_ingest(memory, waiting[unlinked.TASKS], tasks_only=True)
    if built is not None:
        _clear(memory, waiting)
    return built, left


def _clear(memory: Memory, linked: Mapping[str, int]) -> None:
    """Note that links were made; what others have changed meanwhile still waits."""
    if linked:
        with memory.write() as (transaction, _):
            now = transaction.snapshot.manifest.unlinked
            rest = {kind: count - linked.get(kind, 0) for kind, count in now.items()}
            transaction.set_unlinked({kind: count for kind, count in rest.items() if count > 0})


def _run_or_warn(memory: Memory, run: Callable[[], BuildReport]) -> BuildReport | None:
    """Build, and only warn on failure: the chunks are committed and must not be added twice."""
    try:
        return run()
    except (LaminaError, OSError) as error:
        logger.warning("%s: links were not made, the next build makes them: %r", memory.root, error)
        return None


def _crosses_power(before: int, after: int) -> bool:
    """Return True if a power of `_GROWTH`, rounded up, lies in (``before``, ``after``]."""
    step = 1.0
    while step <= before:
        step *= _GROWTH
    return step <= after
