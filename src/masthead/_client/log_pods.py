"""The state of a pod's logs, derived from its status."""

from __future__ import annotations

import re
from datetime import datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import msgspec

from masthead._meta import typeinfo
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead._meta.object import Object

__all__ = ["AfterEnd", "ContainerFilter", "LogPod", "after_end", "view_of"]

_Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
_OVER: Final = frozenset({"Succeeded", "Failed"})


class _Wire(msgspec.Struct, rename="camel"):
    """A part of a pod; absent fields have their defaults, and null counts as absent."""


class _Running(_Wire):
    started_at: _Time | None = None


class _Terminated(_Wire):
    exit_code: int = 0


class _State(_Wire):
    running: _Running | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(_Wire):
    name: str = ""
    state: _State = msgspec.field(default_factory=_State)
    last_state: _State = msgspec.field(default_factory=_State)

    @property
    def has_log(self) -> bool:
        """Whether it runs or has run, so that there is a log to read."""
        states = (self.state, self.last_state)
        return any(state.running is not None or state.terminated is not None for state in states)

    @property
    def has_previous(self) -> bool:
        """Whether it was started before, so that there is a log of its previous instance."""
        return self.last_state.terminated is not None


class _Container(_Wire):
    name: str = ""
    restart_policy: str | None = None


class _Metadata(_Wire):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None


class _Spec(_Wire):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    restart_policy: str = "Always"


class _Status(_Wire):
    phase: str = ""
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None
    ephemeral_container_statuses: list[_ContainerStatus] | None = None


class LogPod(_Wire):
    """The parts of a pod that say which logs it has, and whether they go on."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def is_over(self) -> bool:
        """Whether none of its containers will ever run again."""
        return self.status.phase in _OVER

    def container_status(self, name: str) -> _ContainerStatus | None:
        """The status of a container of any sort; None if the node has not reported it yet."""
        status = self.status
        lists = (
            status.container_statuses,
            status.init_container_statuses,
            status.ephemeral_container_statuses,
        )
        return next((container for found in lists for container in found or () if container.name == name), None)

    def restarts(self, name: str, exit_code: int) -> bool:
        """Whether a container that has ended with this code is started again."""
        spec = self.spec
        # The kubelet starts nothing in a pod that ends.
        if self.is_over or self.metadata.deletion_timestamp is not None:
            return False
        # Ephemeral containers never restart.
        if any(ephemeral_container.name == name for ephemeral_container in spec.ephemeral_containers or ()):
            return False
        init = next(
            (init_container for init_container in spec.init_containers or () if init_container.name == name),
            None,
        )
        # An init container that succeeds is done, unless it is a sidecar, which has its own policy.
        policy = spec.restart_policy if init is None else init.restart_policy or "OnFailure"
        return policy == "Always" or (spec.restart_policy != "Never" and exit_code != 0)


def view_of(pod: Object) -> LogPod:
    """The view of a pod, typed or untyped.

    Raises:
        DecodeError: If it is not a pod.
    """
    try:
        return typeinfo.decode_json(pod.wire_bytes or pod.to_json(), LogPod)
    except msgspec.DecodeError as error:
        raise DecodeError(str(error), kind="Pod", subject=pod.key) from None


class AfterEnd(Enum):
    """The next step of a followed log after its stream ended."""

    END = auto()
    """It is complete."""
    RESUME = auto()
    """The container runs: it was the stream that ended."""
    WAIT = auto()
    """The container has not started, or not started again."""


def after_end(pod: LogPod | None, container: str, last: int | None, *, restarts: bool) -> AfterEnd:
    """Decide the next step of a followed log after its stream ended.

    The end of a stream is not the end of a log: an API server that loses its connection to a node ends the stream as if
    the container had ended.

    Args:
        pod: The current pod; None if it was deleted.
        container: The container's name; empty for the only one.
        last: When the last line was written, in nanoseconds since 1970; None without a line.
        restarts: Whether the log continues when the container starts again.
    """
    if pod is None:
        return AfterEnd.END
    found = pod.container_status(container or _only_name(pod))
    if found is not None and found.state.running is not None:
        # The stream of a running container ended: the connection was lost, or the container started again.
        is_same = _is_written_by(found.state.running.started_at, last)
        return AfterEnd.RESUME if is_same or restarts else AfterEnd.END
    if pod.is_over:
        return AfterEnd.END
    # The container has yet to start.
    if found is None or not found.has_log:
        return AfterEnd.WAIT
    ended = found.state.terminated or found.last_state.terminated
    # Between two instances, a container is waiting, and the last one has terminated.
    goes_on = restarts and ended is not None and pod.restarts(found.name, ended.exit_code)
    return AfterEnd.WAIT if goes_on else AfterEnd.END


def _only_name(pod: LogPod) -> str:
    containers = pod.spec.containers or [_Container()]
    return containers[0].name


def _is_written_by(started_at: datetime | None, last: int | None) -> bool:
    """Whether a line may be by the instance of a container that started at this time."""
    return last is None or started_at is None or int(started_at.timestamp()) <= last // 1_000_000_000


class ContainerFilter(msgspec.Struct, frozen=True):
    """Which containers of a pod are meant.

    Attributes:
        names: Their names; None for all.
        pattern: What their names must match as a whole; None for any.
        init: Whether init containers are meant, too.
        ephemeral: Whether ephemeral containers are meant, too.
    """

    names: frozenset[str] | None = None
    pattern: re.Pattern[str] | None = None
    init: bool = False
    ephemeral: bool = False

    @classmethod
    def of(
        cls, containers: str | Iterable[str] | re.Pattern[str] | None, *, init: bool, ephemeral: bool
    ) -> ContainerFilter:
        """A filter by a name, several names, or a regular expression."""
        if containers is None or isinstance(containers, re.Pattern):
            return cls(None, containers, init, ephemeral)
        names = [containers] if isinstance(containers, str) else containers
        return cls(frozenset(names), None, init, ephemeral)

    def chosen(self, pod: LogPod) -> Iterator[str]:
        """The names of the containers of a pod that are meant."""
        spec = pod.spec
        if self.init:
            yield from filter(self._is_meant, _names(spec.init_containers))
        yield from filter(self._is_meant, _names(spec.containers))
        if self.ephemeral:
            yield from filter(self._is_meant, _names(spec.ephemeral_containers))

    def _is_meant(self, name: str) -> bool:
        if self.names is not None:
            return name in self.names
        return self.pattern is None or self.pattern.fullmatch(name) is not None


def _names(containers: list[_Container] | None) -> list[str]:
    return [container.name for container in containers or ()]
