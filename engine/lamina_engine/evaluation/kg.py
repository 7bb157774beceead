"""Question benchmark for facts: share of questions whose file is among the first six.

After the openclaw graph layer's benchmark, whose form it keeps: seven categories, a file that must be among the first k,
a table of passes by category. Beside it stand questions that nothing answers, which are passed by answering with nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation.sets import read_bytes

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

METHODS: Final = ("lexical", "vector", "facts", "hybrid")
_ANSWERING: Final = ("facts", "hybrid")
CATEGORIES: Final = ("PEOPLE", "TOOLS", "PROJECTS", "FACTS", "OPERATIONAL", "IDENTITY", "DAILY")
WORLDS: Final = ("harbour", "orchard", "summit")
"""Invented worlds that ship; what they measure is that nothing got worse, as all were looked at."""
TOP: Final = 6
_POOL: Final = 5
"""Hits asked for a file wanted: several may be of one file."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and a part of the path of the file that answers it; None where nothing does."""

    query: str
    expected: str | None
    category: str
    answer: str | None = None
    """Part of the value that the first answer must have, where that is known."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions, and who asks them."""

    name: str
    questions: tuple[Question, ...]
    identity: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Files that a method found for a question."""

    question: Question
    paths: tuple[str, ...]
    """Files, best first, each once, at most k."""
    answered: bool
    """Whether the method claims to answer."""
    answer: str | None = None
    """Value of the first answer, of a method that gives any."""

    @property
    def passed(self) -> bool:
        """True where the expected file is among them, or where none is and nothing is claimed."""
        expected = self.question.expected
        if expected is None:
            return not self.answered
        return any(expected.casefold() in path.casefold() for path in self.paths)

    @property
    def is_right(self) -> bool:
        """True where the first answer has the value that is known to be right."""
        known = self.question.answer
        return bool(known and self.answered and self.answer and known.casefold() in self.answer.casefold())

    @property
    def verdict(self) -> str:
        """``pass``, ``fail``, or ``error`` where a question that has an answer got nothing at all."""
        if self.passed:
            return "pass"
        return "error" if self.question.expected is not None and not self.paths else "fail"

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON values, under the names that the benchmark has always had."""
        return {
            "query": self.question.query, "expected": self.question.expected, "category": self.question.category,
            "hit": self.passed, "results_count": len(self.paths), "result_paths": list(self.paths), "answered": self.answered,
            "answer": self.answer, "right": self.is_right if self.question.answer else None,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class KgReport:
    """Passed questions of a method."""

    name: str
    method: str
    top_k: int
    outcomes: tuple[Outcome, ...] = field(repr=False)

    @property
    def answerable(self) -> list[Outcome]:
        """Outcomes of the questions that have an answer."""
        return [outcome for outcome in self.outcomes if outcome.question.expected is not None]

    @property
    def unanswerable(self) -> list[Outcome]:
        """Outcomes of the others."""
        return [outcome for outcome in self.outcomes if outcome.question.expected is None]

    @property
    def recall_pct(self) -> float:
        """Percent of the questions with an answer that passed, to one place; 0 where there is none."""
        return _percent(self.answerable)

    @property
    def claimed(self) -> int:
        """Number of passes that the method also claims as answers."""
        return sum(outcome.passed and outcome.answered for outcome in self.answerable)

    @property
    def judged(self) -> list[Outcome]:
        """Outcomes of questions whose right answer is known, where the method gives answers."""
        return [outcome for outcome in self.answerable if outcome.question.answer] if self.method in _ANSWERING else []

    @property
    def right_pct(self) -> float | None:
        """Percent of those with the right value in the first answer; None where there are none."""
        judged = self.judged
        return round(100.0 * sum(outcome.is_right for outcome in judged) / len(judged), 1) if judged else None

    @property
    def abstained_pct(self) -> float:
        """Percent of the others that were answered with nothing."""
        return _percent(self.unanswerable)

    def categories(self) -> dict[str, dict[str, int]]:
        """Return pass, fail, error and total by category: the seven first, then others by name."""
        found: dict[str, dict[str, int]] = {}
        names = {outcome.question.category for outcome in self.outcomes}
        for name in (*(c for c in CATEGORIES if c in names), *sorted(names - {*CATEGORIES})):
            row = {"pass": 0, "fail": 0, "error": 0, "total": 0}
            for outcome in self.outcomes:
                if outcome.question.category == name:
                    row[outcome.verdict] += 1
                    row["total"] += 1
            found[name] = row
        return found

    def to_dict(self, timestamp: str) -> dict[str, Any]:
        """Return the report as JSON values."""
        verdicts = [outcome.verdict for outcome in self.answerable]
        return {
            "timestamp": timestamp,
            "config": {"top_k": self.top_k, "total_queries": len(self.outcomes), "method": self.method, "set": self.name},
            "summary": {
                "total": len(verdicts), "pass": verdicts.count("pass"), "fail": verdicts.count("fail"),
                "error": verdicts.count("error"), "recall_pct": self.recall_pct, "claimed": self.claimed,
                "right_pct": self.right_pct,
            },
            "unanswerable": {
                "total": len(self.unanswerable),
                "pass": sum(outcome.passed for outcome in self.unanswerable),
                "pct": self.abstained_pct,
            },
            "categories": self.categories(),
            "queries": [outcome.to_dict() for outcome in self.outcomes],
        }  # fmt: skip

    def table(self, *, verbose: bool = False) -> str:
        """Return the report as plain text; with ``verbose``, a line for each question."""
        lines = [
            f"{self.name}, {self.method}: {self.recall_pct:.1f} % of {len(self.answerable)} in the first {self.top_k} files, "
            f"{self.claimed} claimed as answers"
            + ("" if self.right_pct is None else f", {self.right_pct:.1f} % with the right value first")
        ]
        for name, row in self.categories().items():
            nothing = f"{row['error']} without any result" if row["error"] else ""
            lines.append(f"  {name:<14}{row['pass']:>4} of {row['total']:<4}{nothing}".rstrip())
        if verbose:
            lines += [
                f"  {outcome.verdict:<6}{outcome.question.category:<14}{outcome.question.query}  [{outcome.question.expected or 'nothing'}]"
                + ("" if outcome.passed else f"  got {', '.join(outcome.paths) or 'nothing'}")
                for outcome in self.outcomes
            ]
        return "\n".join(lines) + "\n"


def evaluate_kg(
    memory: Memory, question_set: QuestionSet, method: str, *, category: str | None = None, top_k: int = TOP
) -> KgReport:
    """Ask a vault every question by one method."""
    if method not in METHODS:
        raise InvalidArgument(f"method={method!r} must be one of {', '.join(METHODS)}")
    selected = [q for q in question_set.questions if category is None or q.category.casefold() == category.casefold()]
    if not selected:
        categories = ", ".join(dict.fromkeys(q.category for q in question_set.questions)) or "none"
        raise InvalidArgument(f"category={category!r} has no questions here; there are {categories}")
    search = _METHODS[method]
    outcomes = []
    for question in selected:
        paths, answered, answer = search(memory, question.query, question_set.identity, top_k)
        outcomes.append(Outcome(question, tuple(dict.fromkeys(paths))[:top_k], answered, answer))
    return KgReport(question_set.name, method, top_k, tuple(outcomes))


_Hits = tuple[Sequence[str], bool, str | None]
"""Paths, whether they are claimed as answers, and the value of the first answer."""


def _recall_paths(memory: Memory, query: str, top_k: int, **options: Any) -> list[str]:
    from lamina_engine.recall.pipeline import recall

    found = recall(memory, query, k=top_k * _POOL, **options).hits
    return [hit.source for hit in found if hit.source]


def _lexical(memory: Memory, query: str, identity: str | None, top_k: int) -> _Hits:
    paths = _recall_paths(memory, query, top_k, profile="lexical", lanes=("lexical",))
    return paths, bool(paths), None


def _vector(memory: Memory, query: str, identity: str | None, top_k: int) -> _Hits:
    paths = _recall_paths(memory, query, top_k, profile="default", lanes=("vector",))
    return paths, bool(paths), None


def _facts(memory: Memory, query: str, identity: str | None, top_k: int) -> _Hits:
    """Return the sources of answers from facts, and the facts' own claim to answer."""
    from lamina_engine.facts.questions import ask

    found = ask(memory, query, k=top_k, identity=identity)
    return [answer.source for answer in found], found.answered, found[0].value if found else None


def _hybrid(memory: Memory, query: str, identity: str | None, top_k: int) -> _Hits:
    """Return hits of words, meaning and facts together, and the facts' claim to answer."""
    from lamina_engine.facts.questions import ask

    paths = _recall_paths(memory, query, top_k, profile="entity", identity=identity)
    found = ask(memory, query, identity=identity)
    return paths, found.answered, found[0].value if found else None


_METHODS: Final[dict[str, Callable[[Memory, str, str | None, int], _Hits]]] = {
    "lexical": _lexical, "vector": _vector, "facts": _facts, "hybrid": _hybrid,
}  # fmt: skip


# ---------------------------------------------------------------------- questions and worlds


_FIELDS: Final = ("query", "expected", "category", "answer")


def load_questions(path: Path) -> QuestionSet:
    """Read questions: JSON lines or a list of query, expected, category and maybe answer.

    ``expected`` is a part of a file's path, or null; ``answer`` a part of the value that must come first. A line with
    ``identity`` alone says who "I" is.
    """
    text = read_bytes(path).decode("utf-8-sig", "replace")
    identity: str | None = None
    questions: list[Question] = []
    for number, row in enumerate(_rows(path, text), 1):
        if isinstance(row, dict) and set(row) == {"identity"}:
            identity = str(row["identity"])
            continue
        parts = [row.get(name) for name in _FIELDS] if isinstance(row, dict) else row
        if (
            not isinstance(parts, list)
            or len(parts) not in (3, 4)
            or not isinstance(parts[0], str)
            or not parts[0].strip()
        ):
            raise InvalidArgument(
                f"{path}, question {number}: give query, expected (part of a path, or null) and category"
            )
        expected, category = parts[1], parts[2] or "ALL"
        answer = parts[3] if len(parts) > 3 else None
        if not all(each is None or isinstance(each, str) for each in (expected, answer)) or not isinstance(
            category, str
        ):
            raise InvalidArgument(
                f"{path}, question {number}: expected, category and answer must be text; expected and answer may be null"
            )
        questions.append(Question(parts[0], expected or None, category, answer or None))
    return QuestionSet(path.stem, tuple(questions), identity)


def _rows(path: Path, text: str) -> list[Any]:
    try:
        if text.lstrip().startswith("["):
            found = json.loads(text)
            return found if isinstance(found, list) else [found]
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{path} is neither JSON lines nor a JSON list: {error}") from error


@dataclass(frozen=True, slots=True)
class World:
    """Invented notes, what their owner writes down as facts, and questions."""

    files: dict[str, str] = field(repr=False)
    """Texts of the notes by path."""
    seed: str = field(repr=False)
    """A seed file, TOML."""
    question_set: QuestionSet

    def write(self, folder: Path) -> None:
        """Write ``notes/``, ``seed.toml`` and ``questions.jsonl`` into a folder."""
        for path, text in self.files.items():
            target = folder / "notes" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        (folder / "seed.toml").write_text(self.seed, encoding="utf-8")
        lines: list[dict[str, str | None]] = [{"identity": self.question_set.identity}]
        lines += [asdict(question) for question in self.question_set.questions]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / "questions.jsonl").write_text(text, encoding="utf-8")


def load_world(name: str) -> World:
    """Read an invented world that ships with Lamina, one of `WORLDS`."""
    if name not in WORLDS:
        raise InvalidArgument(f"world={name!r} must be one of {', '.join(WORLDS)}")
    found = json.loads(world_path(name).read_bytes())
    questions = tuple(Question(*each) for each in found["questions"])
    return World(found["files"], found["seed"], QuestionSet(name, questions, found["identity"]))


def world_path(name: str) -> Path:
    """Return the file of a world that ships."""
    return Path(__file__).parent / "worlds" / f"{name}.json"


def fill(memory: Memory, folder: Path) -> None:
    """Fill a vault with a written world: notes, seed file, and fields of notes."""
    from lamina_engine.facts.fields import extract_notes
    from lamina_engine.facts.seeding import seed
    from lamina_engine.ingest.pipeline import ingest

    ingest(memory, [str(folder / "notes")], links=False)
    if (folder / "seed.toml").is_file():
        seed(memory, folder / "seed.toml")
    extract_notes(memory)


def _percent(outcomes: Sequence[Outcome]) -> float:
    return round(100.0 * sum(outcome.passed for outcome in outcomes) / len(outcomes), 1) if outcomes else 0.0
