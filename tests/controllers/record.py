"""Record what kube-controller-manager does in scenarios: ``python -m tests.controllers.record [AREA ...]``.

A scenario is kept if two runs of it end alike: where pods of the same second have no order, there is nothing to record.
"""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.conformance.target import real_target
from tests.controllers.catalog import AREAS, compose
from tests.controllers.comparison import RealObjects, play_real
from tests.controllers.controller_manager import controller_manager
from tests.controllers.recording import FOLDER, write
from tests.real_server import real_server_in

if TYPE_CHECKING:
    from tests.controllers.recording import Recorded
    from tests.real_server import RealServer

SCENARIOS = 16
WORKERS = 32
_NAMESPACES = itertools.count()


def main() -> None:
    """Record the scenarios of all areas, or of the given ones, anew."""
    with TemporaryDirectory() as state, real_server_in(Path(state)) as server:
        for area in sys.argv[1:] or sorted(AREAS):
            recorded = _record(area, server, Path(state) / area)
            write(area, recorded)
            print(f"{len(recorded)} scenarios of {area} in {FOLDER}", file=sys.stderr)


def _record(area: str, server: RealServer, folder: Path) -> list[Recorded]:
    target = real_target(server)
    controllers = ("garbage-collector-controller", *AREAS[area].real)
    folder.mkdir()
    with (
        controller_manager(server.url, server.token, server.ca_file, folder, controllers, AREAS[area].options),
        RealObjects(target, AREAS[area]).polled() as objects,
    ):

        def run(number: int) -> Recorded:
            scenario = compose(area, f"recorded-{number}")
            namespace = f"scenario-{next(_NAMESPACES)}-ns"
            return scenario, play_real(scenario, namespace, datetime.now(UTC), target, objects, None)

        numbers = [number for number in range(SCENARIOS) for _ in range(2)]
        with ThreadPoolExecutor(WORKERS) as pool:
            found = list(pool.map(run, numbers))
    return [one for one, again in zip(found[::2], found[1::2], strict=True) if one[1] == again[1]]


if __name__ == "__main__":
    main()
