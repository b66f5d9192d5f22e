"""Finds the pod of a port-forward."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from masthead._client.portforward.backends import (
    Backend,
    choose_pod,
    container_port,
    selector_of,
    target_port,
)
from masthead.errors import NotFoundError, PortForwardError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from masthead._client.portforward.backends import PodState
    from masthead._client.portforward.pod_client import PodClient
    from masthead._transport.websocket import WebSocket

    ReadBackend: TypeAlias = Callable[[], Awaitable[Backend]]

__all__ = ["ForwardTarget", "PodResolver"]


class ForwardTarget(msgspec.Struct, frozen=True):
    """A pod, and the numbers of its ports that are forwarded to.

    Attributes:
        key: The pod as ``namespace/name``.
        name: Its name.
        uid: Its UID: another pod may get the same name.
        ports: The numbers, in the order in which the ports were asked for.
    """

    key: str
    name: str
    uid: str
    ports: tuple[int, ...]


class PodResolver:
    """Finds the pod behind a name, and tells whether it still is the one to use.

    Args:
        pods: The pods of the namespace.
        name: The name of the pod, the service or the workload.
        title: What messages call it.
        ports: The ports that are asked for, by number or name.
        read_backend: Reads the service or the workload; None for a pod.
        is_service: Whether it is a service, whose ports have to be translated.
    """

    def __init__(
        self,
        pods: PodClient,
        name: str,
        title: str,
        ports: Sequence[int | str],
        *,
        read_backend: ReadBackend | None = None,
        is_service: bool = False,
    ) -> None:
        self._pods = pods
        self._name = name
        self.title = title
        self._ports = ports
        self._read_backend = read_backend
        self._is_service = is_service

    async def resolve(self) -> ForwardTarget:
        """Find a pod that runs.

        Raises:
            PortForwardError: If no pod is found, or it has no such port.
            NotFoundError: If the name does not exist.
            MastheadError: As a read.
        """
        if self._read_backend is None:
            pod = await self._pods.view(self._name)
            # The kubelet would refuse the connection with a less helpful message.
            if not pod.is_running:
                phase = pod.status.phase or "Unknown"
                raise PortForwardError(
                    f"port-forward {self.title}: the pod is not running but {phase}; wait until it runs",
                    pod=pod.key,
                )
            numbers = [container_port(pod, port, self.title) for port in self._ports]
        else:
            backend = await self._read_backend()
            pods = await self._pods.views(selector_of(backend, self.title))
            pod = choose_pod(pods, self.title)
            numbers = [self._number(backend, pod, port) for port in self._ports]
        return ForwardTarget(pod.key, pod.metadata.name, pod.metadata.uid, tuple(numbers))

    def _number(self, backend: Backend, pod: PodState, port: int | str) -> int:
        if self._is_service:
            return target_port(backend, pod, port, self.title)
        return container_port(pod, port, self.title)

    async def connect(self, target: ForwardTarget) -> WebSocket:
        """Open a WebSocket to a pod.

        Raises:
            MastheadError: As `RestClient.connect`.
        """
        return await self._pods.connect(target.name)

    async def is_gone(self, target: ForwardTarget) -> bool:
        """Whether a pod does not run any more, or another one has its name.

        Raises:
            MastheadError: As a read, if the server does not tell.
        """
        try:
            return self._has_gone(await self._pods.view(target.name), target)
        except NotFoundError:
            return True

    async def wait_until_gone(self, target: ForwardTarget) -> None:
        """Wait until a pod does not run any more.

        Raises:
            MastheadError: As a watch, if the server does not tell.
        """
        async for pod in self._pods.changes(target.name):
            if pod is None or self._has_gone(pod, target):
                return

    def _has_gone(self, pod: PodState, target: ForwardTarget) -> bool:
        # Another pod takes over while this one terminates, if there can be another one.
        is_leaving = self._read_backend is not None and pod.metadata.deletion_timestamp is not None
        return pod.metadata.uid != target.uid or not pod.is_running or is_leaving
