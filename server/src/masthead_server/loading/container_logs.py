"""The logs in a `kubectl cluster-info dump` folder: ``NAMESPACE/POD/logs.txt``, all containers of a pod in one file."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead.errors import ConfigError
from masthead_server.kubelet.pods import container_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from masthead_server.kubelet.runtime import PodRuntime

__all__ = ["DumpedLines", "load_logs", "read_logs"]

_FILE: Final = "logs.txt"
_START: Final = re.compile(rb"==== START logs for container (\S+) of pod (\S+)/(\S+) ====\r?\n")
_END: Final = re.compile(rb"==== END logs for container (\S+) of pod \S+ ====\r?\n?")
_BATCH_BYTES: Final = 256 * 1024
"""How much of a log is in memory at a time."""


class DumpedLines(NamedTuple):
    """Some lines of a container's log, in their order."""

    namespace: str
    pod: str
    container: str
    data: bytes


async def load_logs(runtime: PodRuntime, paths: Sequence[str | Path]) -> None:
    """Fill the logs of loaded pods. Logs of pods that the dump does not have are skipped.

    Raises:
        ConfigError: If a file cannot be read.
    """
    for lines in read_logs([Path(path) for path in paths]):
        pod = runtime.load(lines.namespace, lines.pod)
        if pod is None or container_of(pod, lines.container) is None:
            continue
        log = runtime.container(pod, lines.container).log
        log.append(lines.data, runtime.now())
        # A dump may have gigabytes of logs.
        await asyncio.sleep(0)


def read_logs(paths: Iterable[Path]) -> Iterator[DumpedLines]:
    """Yield the logs in folders, a batch of lines at a time.

    Raises:
        ConfigError: If a file cannot be read.
    """
    for folder in paths:
        if not folder.is_dir():
            continue
        for file in sorted(folder.rglob(_FILE)):
            try:
                yield from _read_file(file)
            except OSError as error:
                raise ConfigError(f"cannot load {file}: {error.strerror}") from None


def _read_file(file: Path) -> Iterator[DumpedLines]:
    container: tuple[str, str, str] | None = None
    batch = bytearray()
    with file.open("rb") as lines:
        # Split by size as well: a line may be as long as the file.
        while line := lines.readline(_BATCH_BYTES):
            started, ended = _START.fullmatch(line), _END.fullmatch(line)
            # A container may print a line that looks like the end of another one's log.
            is_end = ended is not None and container is not None and ended[1].decode() == container[2]
            if container is not None and not is_end and started is None:
                batch += line
            is_complete = is_end or started is not None
            if container is not None and batch and (is_complete or len(batch) >= _BATCH_BYTES):
                yield DumpedLines(*container, bytes(batch))
                batch.clear()
            if started is not None:
                name, namespace, pod = (part.decode("utf-8", "replace") for part in started.groups())
                container = (namespace, pod, name)
            elif is_end:
                container = None
    # A dump that was interrupted ends in the middle of a log.
    if container is not None and batch:
        yield DumpedLines(*container, bytes(batch))
