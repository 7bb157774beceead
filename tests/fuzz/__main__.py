"""Hours of fuzzing by one command: ``python -m tests.fuzz --minutes 60 [vaults] [hostile] [large] [inputs]``.

It prints counts for each target and every find, and leaves each find in ``tests/fuzz/seeds``, which the tests run from
then on. Exit code 1 where there were finds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.campaigns import CAMPAIGNS, Tally

_BATCH = 400
"""Cases between two looks at the clock; a child is forked for each batch, or after one that died."""


def main() -> int:
    """Run the campaigns in turn until the time or the number of cases is used up."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("campaigns", nargs="*", default=sorted(CAMPAIGNS), help=f"of {', '.join(sorted(CAMPAIGNS))}")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many of each")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    until = time.monotonic() + given.minutes * 60
    tallies = {name: Tally(name) for name in given.campaigns}
    with tempfile.TemporaryDirectory(prefix="lamina-fuzz-") as folder:
        running = {name: CAMPAIGNS[name](Path(folder) / name, given.seed) for name in given.campaigns}
        while time.monotonic() < until and any(tally.cases < given.cases for tally in tallies.values()):
            for name, campaign in running.items():
                if tallies[name].cases < given.cases:
                    for find in tallies[name].take(campaign.run(_BATCH)):
                        print(find, flush=True)
            counts = ", ".join(f"{tally.name} {tally.cases} ({tally.finds} finds)" for tally in tallies.values())
            print(f"{given.minutes * 60 - until + time.monotonic():.0f} s: {counts}", file=sys.stderr, flush=True)
    for tally in tallies.values():
        print(tally.summary())
    return int(any(tally.finds for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
