"""Run chaos from a command line: ``python -m tests.chaos --minutes 10``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.chaos.run import Tally, line, main_folder, unleash


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="time after which no more is killed")
    parser.add_argument("--kills", type=int, default=10**9, help="kills that strike during work, after which it ends")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="folder for the vaults; a temporary one by default")
    given = parser.parse_args()
    began = time.monotonic()
    told: list[str] = []

    def tell(tally: Tally) -> None:
        print(f"{time.monotonic() - began:.0f} s: {tally.kills} kills, {tally.looked_up} looked up, "
              f"{len(tally.failures)} failures", file=sys.stderr, flush=True)  # fmt: skip
        for failure in tally.failures:
            if failure not in told:
                told.append(failure)
                print(failure, file=sys.stderr, flush=True)

    with main_folder() as folder:
        tally = unleash(given.seed, given.kills, given.minutes, given.folder or Path(folder), tell)
    print(line(tally, given.seed, time.monotonic() - began))
    return bool(tally.failures)


if __name__ == "__main__":
    sys.exit(main())
