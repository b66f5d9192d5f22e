"""Runs every test file alone, in a fresh process, its tests in random order: ``make test-alone``.

It finds tests that pass only after another one has filled a cache, created a file or registered a class. The order of
files and tests depends on a seed, which is printed; ``MASTHEAD_ALONE_SEED`` repeats it. ``MASTHEAD_ALONE_SECONDS``
limits the time (files that are not reached are counted), and arguments name the files, all of them by default.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
SECONDS: Final = float(os.environ.get("MASTHEAD_ALONE_SECONDS", "inf"))
SEED: Final = int(os.environ.get("MASTHEAD_ALONE_SEED") or random.randrange(2**32))
_NO_TESTS: Final = 5
_FILE_TIMEOUT: Final = 900


def main(names: list[str]) -> int:
    """Run the files; return the exit status."""
    files = [Path(name) for name in names] or sorted(ROOT.glob("tests/**/test_*.py"))
    random.Random(SEED).shuffle(files)
    print(f"{len(files)} files, each alone, with the seed {SEED}", flush=True)
    until = time.monotonic() + SECONDS
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda file: _run(file, until), files))
    failed = [file for file, result in zip(files, results, strict=True) if result is False]
    ran = sum(result is not None for result in results)
    print(f"{ran} files run, {len(files) - ran} not reached, {len(failed)} failed", flush=True)
    return 1 if failed else 0


def _run(file: Path, until: float) -> bool | None:
    """Run one file; return whether it passed, or None if the time is up."""
    left = until - time.monotonic()
    if left <= 0:
        return None
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--random-order",
        f"--random-order-seed={SEED}",
        str(file),
    ]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=min(_FILE_TIMEOUT, left + 60),
        )
    except subprocess.TimeoutExpired:
        return None if left < _FILE_TIMEOUT else False
    if done.returncode in {0, _NO_TESTS}:
        return True
    print(f"{file} failed alone:\n{done.stdout}\n{done.stderr}", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
