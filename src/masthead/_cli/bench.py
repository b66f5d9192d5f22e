"""What ``masthead bench`` measures: how quickly a cluster answers, and what an informer of a kind takes here.

Nothing is written to the cluster, unless that is asked for.
"""

from __future__ import annotations

import gc
import os
import queue
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from masthead._cli.bench_report import BenchReport, Latency, Synced
from masthead._config.address import mask_token
from masthead._meta.registry import registry
from masthead.errors import DeadlineError, NotFoundError, UnknownKindError

if TYPE_CHECKING:
    import masthead
    from masthead._cache.options import Hold
    from masthead._cli.references import Selected

__all__ = ["BenchPlan", "Meter", "measure"]

_PAGE: Final = 500
_PAGES: Final = 5
"""How many times a page is requested at most: it may be megabytes."""

Step: TypeAlias = Callable[[str], object]
"""Called with the title of the next measurement."""


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to measure.

    Attributes:
        samples: How many times each call is made.
        hold: How the informer stores objects.
        writes: Whether an object is created, changed and deleted, to see how soon an informer has a change.
        timeout: Seconds that the informer may take to sync, and that a change may take to arrive.
    """

    samples: int = 20
    hold: Hold = "lazy"
    writes: bool = False
    timeout: float = 300.0


def resident_bytes() -> int | None:
    """The memory of this process, as the system counts it; None where it is not reported."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Meter:
    """What measurements are read from.

    Attributes:
        wall: Seconds, of a clock that only goes forward.
        cpu: Seconds of CPU time of this process.
        memory: Bytes of memory of this process; None where they are not known.
    """

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time
    memory: Callable[[], int | None] = resident_bytes

    def latency(self, title: str, samples: int, call: Callable[[], object]) -> Latency:
        """Call something several times; the first call, which connects, does not count."""
        # Connection, TLS handshake and discovery belong to the first call.
        call()
        found: list[float] = []
        for _ in range(samples):
            begin = self.wall()
            call()
            found.append(self.wall() - begin)
        return Latency(title, tuple(found))


def measure(client: masthead.Client, selected: Selected, plan: BenchPlan, meter: Meter, step: Step) -> BenchReport:
    """Measure a cluster.

    Args:
        client: The client.
        selected: The kind, and the namespace.
        plan: What to measure.
        meter: What to read from.
        step: Is called before each measurement, with what it is.

    Raises:
        DeadlineError: If the informer is not synced in time, or does not see a change in time.
        MastheadError: As for any call.
    """
    name = selected.resource.name
    resource = _resource(client, selected)
    step("GET /version")
    latencies = [meter.latency("GET /version", plan.samples, client.discovery.server_version)]
    step(f"list {name}")
    latencies.append(meter.latency(f"list {name}, 1 object", plan.samples, lambda: resource.list(limit=1)))
    pages = min(plan.samples, _PAGES)
    latencies.append(meter.latency(f"list {name}, up to {_PAGE}", pages, lambda: resource.list(limit=_PAGE)))
    if plan.writes:
        step("changes")
        latencies.append(_changes(client, plan, meter))
    step(f"an informer of {name}")
    synced = _measure_sync(resource, plan, meter)
    where = f" in namespace {selected.namespace}" if selected.namespace else ""
    version = client.discovery.server_version().git_version
    return BenchReport(f"{mask_token(client.config.server)}, {version}", f"{name}{where}", tuple(latencies), synced)


def _resource(client: masthead.Client, selected: Selected) -> masthead.ResourceClient[Any]:
    """The client of a kind: typed if there is a class for it, as programs use it."""
    try:
        return client.resource(registry.object_class(selected.resource.gvk), selected.namespace)
    except UnknownKindError:
        return client.dynamic(selected.resource.gvr, namespace=selected.namespace)


def _measure_sync(resource: masthead.ResourceClient[Any], plan: BenchPlan, meter: Meter) -> Synced:
    """Run an informer until it is synced."""
    from masthead._sync.informer import SharedInformer

    # Memory that the informer reuses from earlier garbage would not count as growth.
    gc.collect()
    before = meter.memory()
    begin, cpu = meter.wall(), meter.cpu()
    with SharedInformer(resource, hold=plan.hold) as informer:
        informer.wait_for_cache_sync(timeout=plan.timeout)
        wall, spent = meter.wall() - begin, meter.cpu() - cpu
        gc.collect()
        after = meter.memory()
        objects = len(informer.indexer)
    grown = None if before is None or after is None else max(0, after - before)
    return Synced(plan.hold, objects, wall, spent, grown)


def _changes(client: masthead.Client, plan: BenchPlan, meter: Meter) -> Latency:
    """Change a ConfigMap of our own, and measure from each request until an informer has its result."""
    from masthead._meta.patch import Patch
    from masthead._sync.informer import SharedInformer
    from masthead.api.core.v1 import ConfigMap

    maps = client.core_v1.config_maps(client.namespace)
    name = f"masthead-bench-{uuid.uuid4().hex[:8]}"
    arrived: queue.SimpleQueue[str] = queue.SimpleQueue()
    informer = SharedInformer(maps, field_selector=f"metadata.name={name}")
    informer.add_event_handler(on_update=lambda _, obj: arrived.put(obj.data.get("number", "")))
    # Created before the informer starts, so that only patches are updates.
    maps.create(ConfigMap.new(name, data={"number": "none"}))
    try:
        with informer:
            informer.wait_for_cache_sync(timeout=plan.timeout)
            found: list[float] = []
            for number in map(str, range(plan.samples)):
                begin = meter.wall()
                maps.patch(name, Patch.merge({"data": {"number": number}}))
                _wait_for(number, arrived, plan.timeout)
                found.append(meter.wall() - begin)
    finally:
        _delete(maps, name)
    return Latency("patch, until an informer has it", tuple(found))


def _wait_for(number: str, arrived: queue.SimpleQueue[str], timeout: float) -> None:
    try:
        # Earlier changes may arrive late: each number is waited for by its value.
        while arrived.get(timeout=timeout) != number:
            pass
    except queue.Empty:
        raise DeadlineError(f"an informer did not see a change within {timeout:g} s") from None


def _delete(maps: masthead.ResourceClient[Any], name: str) -> None:
    try:
        maps.delete(name)
    except NotFoundError:
        return
