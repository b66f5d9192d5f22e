"""Records the responses of the real server: ``python -m tests.conformance.record [AREA...]``."""

from __future__ import annotations

import argparse
import itertools
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.conformance.case import all_cases
from tests.conformance.recording import FOLDER, Recording, path_of, write
from tests.conformance.run import responses
from tests.conformance.target import Targets, real_target_with
from tests.real_server import ASSETS, missing_programs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conformance.api import Plain


def main(arguments: Sequence[str] | None = None) -> int:
    """Put every case of the areas that are named, or of all, to a real server of its own."""
    parser = argparse.ArgumentParser(description="Record the responses of a real kube-apiserver.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help="only these areas")
    areas: list[str] = parser.parse_args(arguments).areas
    if missing := missing_programs():
        print(f"There is no {' and no '.join(missing)} in {ASSETS}.", file=sys.stderr)
        return 1
    with Targets(real_target_with) as targets:
        record(targets, areas)
    if not areas:
        _remove_what_no_case_wrote()
    return 0


def record(targets: Targets, areas: Sequence[str] = ()) -> None:
    """Write the recordings of some areas, or of all."""
    for area, cases in itertools.groupby(all_cases(), key=lambda case: case.area):
        if areas and area not in areas:
            continue
        steps: dict[str, list[Plain]] = {}
        version = ""
        for case in cases:
            target = targets.find(case)
            version = version or target.read_version()
            steps[case.name] = responses(case, target)
        new = Recording(area, version, datetime.now(UTC).date().isoformat(), steps)
        print(f"{'recorded' if write(new) else 'the same'}  {len(steps):4d}  {area}")


def _remove_what_no_case_wrote() -> None:
    wanted = {path_of(case.area) for case in all_cases()}
    for path in sorted(set(FOLDER.glob("*.json")) - wanted):
        path.unlink()


if __name__ == "__main__":
    sys.exit(main())
