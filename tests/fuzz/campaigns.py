"""Campaigns: one kind of target each, drawn from one seed, run in batches in forked children."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from tests.fuzz.inputs import TARGETS, Drawn, check_batch, draw_example, draw_inputs, keep_seed
from tests.fuzz.sandbox import Outcome, run_case, run_cases
from tests.fuzz.vaults import Damage, check_damage, copy_with, draw_damage, files_of, make_vault, read_all

_INPUTS: Final = 10
"""Mutations in one case of foreign inputs."""


@dataclass(slots=True)
class Tally:
    """Counts of a campaign's outcomes."""

    name: str
    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)
    finds: int = 0

    def take(self, outcomes: Iterable[tuple[str, Outcome]]) -> Iterator[str]:
        """Count outcomes by their targets; yield a text for each find."""
        for target, outcome in outcomes:
            self.cases += 1
            self.targets[target] += 1
            self.kinds[outcome.kind] += 1
            self.kinds.update(f"{name} {value}" for name, value in outcome.extra.items())
            if outcome.is_find:
                self.finds += 1
                yield f"FIND {self.name} {target}: {outcome.kind}: {outcome.detail}"

    def summary(self) -> str:
        """Return the counts in some lines."""
        lines = [f"{self.name}: {self.cases} cases, {self.finds} finds; {dict(sorted(self.kinds.items()))}"]
        return "\n".join([*lines, *(f"    {count:7} {name}" for name, count in self.targets.most_common(40))])


class Campaign(ABC):
    """Endless source of cases."""

    @abstractmethod
    def run(self, cases: int) -> Iterator[tuple[str, Outcome]]:
        """Run so many cases; yield what each was aimed at, and its end."""


class VaultDamage(Campaign):
    """Random damage to every file of one vault; ``resealed``: with digests that fit."""

    def __init__(self, folder: Path, seed: int, *, chunks: int = 120, resealed: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._random, self._resealed = Random(seed), resealed
        self.base, self._place = make_vault(folder / "base", chunks), folder / "damaged"
        self.files = files_of(self.base)
        self._expected: Mapping[str, str] = self._read_undamaged()

    def run(self, cases: int) -> Iterator[tuple[str, Outcome]]:
        drawn = [draw_damage(self.base, self.files, self._random, resealed=self._resealed) for _ in range(cases)]
        yield from self.check(drawn)

    def _read_undamaged(self) -> Mapping[str, str]:
        whole = Damage(self.base, "CURRENT", (self.base / "CURRENT").read_bytes(), False)
        copy_with(whole, self._place)
        return read_all(self._place)

    def check(self, drawn: list[Damage]) -> Iterator[tuple[str, Outcome]]:
        """Run some damages."""

        def act(damage: Damage) -> dict[str, str]:
            return check_damage(damage, self._expected, self._place)

        for damage, outcome in zip(drawn, run_cases(act, drawn), strict=True):
            yield _kind_of_file(damage.name), outcome


def _kind_of_file(name: str) -> str:
    head, _, rest = name.partition("/")
    return f"{head}/{rest.partition('/')[0].partition('-')[0]}" if rest else head


class ForeignInputs(Campaign):
    """Mutated inputs of every format; a batch of one format is one case, and on a find each input is tried alone."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._random, self._folder = Random(seed), folder
        for name in TARGETS:  # so that no child loads the readers of a format again: most of a case's time
            run_case(lambda batch: check_batch(batch, folder / "vault"), [draw_example(name)])

    def run(self, cases: int) -> Iterator[tuple[str, Outcome]]:
        batches = [draw_inputs(self._random, _INPUTS) for _ in range(max(1, cases // _INPUTS))]
        # all of them first: their child writes where the inputs of a find are tried alone
        for batch, outcome in zip(batches, list(self._outcomes(batches)), strict=True):
            if not outcome.is_find:
                yield from ((batch[0].target, outcome) for _ in batch)
                continue
            alone = [[drawn] for drawn in batch]
            for (drawn,), single in zip(alone, self._outcomes(alone), strict=True):
                if single.is_find:
                    keep_seed(drawn)
                yield drawn.target, single

    def _outcomes(self, batches: list[list[Drawn]]) -> Iterator[Outcome]:
        return run_cases(lambda batch: check_batch(batch, self._folder / "vault"), batches)


CAMPAIGNS: Final[dict[str, Callable[[Path, int], Campaign]]] = {
    "vaults": lambda folder, seed: VaultDamage(folder, seed),
    "hostile": lambda folder, seed: VaultDamage(folder, seed, resealed=True),
    "inputs": ForeignInputs,
    "large": lambda folder, seed: VaultDamage(folder, seed, chunks=6_000),
}
