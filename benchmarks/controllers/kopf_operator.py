"""kopf's operator of widgets, in a process of its own, in an interpreter that has kopf.

    python -m benchmarks.controllers.kopf_operator installed
    python -m benchmarks.controllers.kopf_operator event KUBECONFIG COUNT      handles events, and writes nothing
    python -m benchmarks.controllers.kopf_operator handlers KUBECONFIG COUNT   handles creations and updates

The second one is what kopf's users write. For it, kopf keeps the last handled configuration in an annotation of each
object, and posts an Event for each handler that has succeeded. It prints what `benchmarks.controllers.observation`
says.
"""

# mypy: disable-error-code="import-not-found, import-untyped, attr-defined, no-any-return, misc, unused-ignore"
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from importlib import metadata
from typing import Any

from benchmarks.controllers.observation import Observation
from benchmarks.controllers.widgets import GROUP, PLURAL, VERSION


async def run(mode: str, kubeconfig: str, count: int) -> None:
    """Run it until it is told to end."""
    import kopf

    os.environ["KUBECONFIG"] = kubeconfig
    logging.getLogger().setLevel(logging.WARNING)
    registry, observation = kopf.OperatorRegistry(), Observation()

    async def handle(name: str, spec: Any, **_: Any) -> None:  # noqa: ANN401 - kopf's
        observation.saw(name, spec.get("serial"), spec.get("changed"))

    if mode == "event":
        kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)(handle)
    else:
        kopf.on.create(GROUP, VERSION, PLURAL, registry=registry)(handle)
        kopf.on.update(GROUP, VERSION, PLURAL, registry=registry)(handle)
        kopf.on.resume(GROUP, VERSION, PLURAL, registry=registry)(handle)
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(kopf.operator(registry=registry, standalone=True, clusterwide=True, stop_flag=stop))
        await observation.report(count)
        os._exit(0)


def main() -> None:
    """Run it, or say which version there is."""
    if sys.argv[1] == "installed":
        try:
            print(json.dumps({"kopf": metadata.version("kopf")}))
        except metadata.PackageNotFoundError:
            print(json.dumps({}))
        return
    asyncio.run(run(sys.argv[1], sys.argv[2], int(sys.argv[3])))


if __name__ == "__main__":
    main()
