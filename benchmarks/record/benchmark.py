"""Recording a cluster of 20,000 pods with ten changes a second: bytes of an hour, and CPU time of a change.

The changes of an hour are replayed faster than real time, through the store of an informer: each changes the status of
a pod as kubelet does. Every frame has the changes of two seconds, as in reality, because more would compress better.
CPU time is that of the process with a recorder less that without one, all threads included.
"""

from __future__ import annotations

import itertools
import json
import random
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import measure, pods
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from benchmarks.record.completeness import measure_completeness
from masthead._cache.informer.informer import pipeline_of
from masthead._sansio.changes import Delta, DeltaType, ReplacedAll
from masthead.aio import Client, SharedInformerFactory
from masthead.api.core.v1 import Pod
from masthead.config import Config
from masthead.recording import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.record.completeness import Completeness
    from masthead._cache.informer.processor import SharedProcessor
    from masthead._cache.store.storage import Stored

Plain = dict[str, Any]

PER_SECOND: Final = 10
SECONDS_OF_A_FRAME: Final = 2
HOUR: Final = 3600
BYTES_TARGET: Final = 100.0
CPU_TARGET: Final = 3.0
_POLL: Final = 0.025
_STATE_POLL: Final = 0.2


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = measure.parser(__doc__, repeat=1, quick=True)
    parser.add_argument("--pods", type=measure.positive, default=20_000, help="how many (default: %(default)s)")
    options = parser.parse_args(arguments)
    count: int = 200 if options.quick else options.pods
    seconds = 20 if options.quick else HOUR
    with tempfile.TemporaryDirectory() as folder:
        found = _measure(count, seconds, Path(folder))
        complete = measure_completeness(Path(folder), 400 if options.quick else 6000)
    tables = (_table(found, seconds), _completeness_table(complete))
    notes = (f"{seconds} seconds of changes were replayed; bytes of an hour are extrapolated from them.",)
    show(Report("record", {"pods": count, "seconds": seconds}, unjudged(tables) if options.quick else tables, notes))


def _table(found: dict[str, float], seconds: int) -> Table:
    changes = seconds * PER_SECOND
    hour = found["bytes"] / seconds * HOUR / 1e6
    us = (found["recorded"] - found["plain"]) / changes * 1e6
    percent = us * PER_SECOND / 1e6 * 100
    state_us = (found["recorded_state"] - found["plain_state"]) / found["objects"] * 1e6
    columns = (Column("mb", "MB"), Column("us", "CPU µs each"), Column("percent", "% of a core", 3))
    rows = (
        Row("hour", "an hour of changes", (hour, us, percent), Target("mb_of_an_hour", hour, BYTES_TARGET)),
        Row("cpu", "CPU of the recorder", (None, us, percent), Target("percent_of_a_core", percent, CPU_TARGET)),
        Row("state", "the first state", (found["state_bytes"] / 1e6, state_us, None)),
        Row("memory", "peak memory of the process", (found["peak"], None, None)),
    )
    return Table("record", f"{found['objects']:.0f} pods, {PER_SECOND} changes a second", columns, rows)


def _completeness_table(found: Completeness) -> Table:
    columns = (Column("count", "number", 0),)
    rows = (
        Row("made", "changes by the server", (found.changes,)),
        Row("gaps", "gaps that the recording marks", (found.gaps,)),
        Row("in_gaps", "changes that are missing in them", (found.in_gaps,)),
        Row("lost", "changes that are missing elsewhere", (found.lost,), Target("lost", found.lost, 0)),
        Row("differs", "objects that differ at the end", (found.differs,), Target("differs", found.differs, 0)),
    )
    return Table("complete", "Watches break and expire, and the recorder restarts", columns, rows)


def _measure(count: int, seconds: int, folder: Path) -> dict[str, float]:
    found: dict[str, float] = {"objects": count}
    for name in ("plain", "recorded"):
        factory = SharedInformerFactory(Client(Config(server="http://127.0.0.1:9", token="none")))
        processor = pipeline_of(factory.core_v1.pods.informer).store.processor
        # Short, so that a replay need not wait; a frame is written as soon as its changes are there.
        recorder = Recorder(factory, folder / "r.mhr", flush_every=0.01) if name == "recorded" else None
        if recorder is not None:
            recorder.start()
        began = time.process_time()
        _replace(processor, count)
        _wait(recorder, 0)
        if recorder is not None:
            found["state_bytes"] = recorder.statistics.bytes
        found[f"{name}_state"] = time.process_time() - began
        found[name] = _replay(processor, recorder, count, seconds)
        if recorder is not None:
            recorder.stop()
            found["bytes"] = recorder.statistics.bytes - found["state_bytes"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found["peak"] = peak * (1 if sys.platform == "darwin" else 1024) / 1e6
    return found


def _replace(processor: SharedProcessor[Pod], count: int) -> None:
    """List all pods."""
    listed = (Pod.from_wire(text.encode()) for text in pods.texts(count))
    everything: ReplacedAll[Stored] = ReplacedAll({pod.key: pod for pod in listed}, "1")
    steps = processor.process([everything], is_initial=True)
    for _ in steps or ():
        pass


def _replay(processor: SharedProcessor[Pod], recorder: Recorder | None, count: int, seconds: int) -> float:
    """Change pods, and return the CPU time without that of making the changes."""
    used = 0.0
    changes = _changes(count)
    for second in range(0, seconds, SECONDS_OF_A_FRAME):
        batch = list(itertools.islice(changes, SECONDS_OF_A_FRAME * PER_SECOND))
        began = time.process_time()
        for change in batch:
            processor.process([change], is_initial=False)
        _wait(recorder, (second + SECONDS_OF_A_FRAME) * PER_SECOND)
        used += time.process_time() - began
    return used


def _wait(recorder: Recorder | None, changes: int) -> None:
    """Wait until changes are in the file."""
    if recorder is None:
        return
    pause, before, size = threading.Event(), -1, 0
    while recorder.statistics.changes < changes or not size or size != before:
        before, size = size, recorder.statistics.bytes
        # Longer than the time between two flushes, so that an unchanged size means that all is written.
        pause.wait((_STATE_POLL if not changes else _POLL) if recorder.statistics.changes >= changes else _POLL / 10)


def _changes(count: int) -> Iterator[Delta[object]]:
    """Status updates of random pods, endlessly."""
    rng = random.Random(7)
    texts = list(pods.texts(count))
    for version in itertools.count(count + 10_000):
        index = rng.randrange(count)
        pod: Plain = {"kind": "Pod", "apiVersion": "v1", **json.loads(texts[index])}
        pod["metadata"]["resourceVersion"] = str(version)
        minute, second = divmod(version // PER_SECOND, 60)
        at = f"2026-01-31T{minute // 60 % 24:02}:{minute % 60:02}:{second:02}Z"
        for condition in pod["status"].get("conditions", ()):
            condition["lastTransitionTime"] = at
            condition["status"] = rng.choice(("True", "False"))
        for container in pod["status"].get("containerStatuses", ()):
            container["restartCount"] = version % 100
            container["ready"] = bool(version % 2)
        for entry in pod["metadata"].get("managedFields", ()):
            entry["time"] = at
        text = json.dumps(pod, separators=(",", ":"))
        obj = Pod.from_wire(text.encode())
        yield Delta(DeltaType.UPDATED, obj.key, obj, str(version))
