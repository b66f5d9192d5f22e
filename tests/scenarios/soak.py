"""Plays new scenarios, the hammer and hostile requests for as long as one likes: ``make soak``.

``MASTHEAD_SOAK_SECONDS`` sets for how long, ``MASTHEAD_SOAK_SCENARIOS`` how many at most. Before that it starts
``MASTHEAD_FRESH_PROCESSES`` programs (1,000 by default) whose threads use types for the first time. Whatever fails is
printed with its seed and its scenario, and makes the exit status 1.
"""

from __future__ import annotations

import faulthandler
import itertools
import logging
import os
import random
import subprocess
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.scenarios.hammer import hammer
from tests.scenarios.runner import describe_failure
from tests.scenarios.scenario import scenario_of
from tests.server import runaway
from tests.server.metered_server import can_measure
from tests.unit.sansio.test_listwatch_model import run_seed

SECONDS: Final = float(os.environ.get("MASTHEAD_SOAK_SECONDS", "600"))
MOST: Final = int(os.environ.get("MASTHEAD_SOAK_SCENARIOS", "1000000000"))
FRESH: Final = int(os.environ.get("MASTHEAD_FRESH_PROCESSES", "1000"))
_FIRST_USES: Final = Path(__file__).parent.parent / "isolated" / "first_uses.py"
_SEEDS: Final = 2**40
_OF_THE_MACHINE: Final = 10
"""How many scenarios of the machine alone are run beside one through the whole stack."""
_HAMMERED: Final = 0.25
_HOSTILE: Final = 0.15
_TO_CONVERGE: Final = 180


def main() -> int:
    """Run scenarios until the time is up; returns the exit status."""
    workers = os.cpu_count() or 1
    crashed = _fresh_processes(workers)
    playing = SECONDS * (1 - _HAMMERED - _HOSTILE)
    firsts = [random.randrange(_SEEDS) for _ in range(workers)]
    print(f"{playing:.0f} s of scenarios in {workers} processes, from the seeds {firsts} on", flush=True)
    with ProcessPoolExecutor(workers) as pool:
        done = list(pool.map(_run_from, firsts, [playing] * workers, [MOST // workers] * workers))
    failed = sum(failures for _, failures in done)
    print(f"{sum(played for played, _ in done)} scenarios, {failed} failed", flush=True)
    problems = _hammered(SECONDS * _HAMMERED) + _run_hostile(SECONDS * _HOSTILE)
    return 1 if crashed or failed or problems else 0


def _fresh_processes(workers: int) -> int:
    """Use types for the first time in many processes; returns how many of them failed."""
    first = random.randrange(_SEEDS)
    print(f"{FRESH} fresh processes, from the seed {first} on", flush=True)
    with ThreadPoolExecutor(workers) as pool:
        failed = sum(pool.map(_fails, range(first, first + FRESH)))
    print(f"{failed} of them failed", flush=True)
    return failed


def _fails(seed: int) -> bool:
    done = subprocess.run([sys.executable, _FIRST_USES, str(seed)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"first uses, seed {seed}: exit status {done.returncode}\n{done.stderr}", flush=True)
    return done.returncode != 0


def _run_from(first: int, seconds: float, most: int) -> tuple[int, int]:
    """Run scenarios; returns how many, and how many failed."""
    logging.getLogger("masthead").setLevel(logging.CRITICAL + 1)
    until = time.monotonic() + seconds
    failed = 0
    for number in itertools.count():
        if number >= most or time.monotonic() > until:
            return number, failed
        report = describe_failure(scenario_of(first + number)) or _of_the_machine((first + number) * _OF_THE_MACHINE)
        if report:
            failed += 1
            print(report, flush=True)
    raise AssertionError("counting does not end")


def _of_the_machine(first: int) -> str:
    try:
        for seed in range(first, first + _OF_THE_MACHINE):
            run_seed(seed)
    except Exception:  # noqa: BLE001 - its notes name the scenario and its course
        return traceback.format_exc()
    return ""


def _hammered(seconds: float) -> list[str]:
    print(f"{seconds:.0f} s of hammering", flush=True)
    logging.getLogger("masthead").setLevel(logging.CRITICAL + 1)
    faulthandler.dump_traceback_later(seconds + _TO_CONVERGE, exit=True)
    found = hammer(seconds)
    faulthandler.cancel_dump_traceback_later()
    print(", ".join(f"{count} {what}" for what, count in found.counts.items()), flush=True)
    print("\n".join(found.problems) or "nothing was wrong", flush=True)
    return found.problems


def _run_hostile(seconds: float) -> list[str]:
    if not can_measure():
        print("hostile requests are not measured here", flush=True)
        return []
    seed = random.randrange(_SEEDS)
    print(f"{seconds:.0f} s of hostile requests, of the seed {seed}", flush=True)
    done = runaway.run(seconds, seed=seed)
    print(f"{done.sent} sent, {done.slowest * 1000:.0f} ms at most", flush=True)
    print("\n".join(map(str, done.found)) or "none costs too much", flush=True)
    return [str(each) for each in done.found]


if __name__ == "__main__":
    sys.exit(main())
