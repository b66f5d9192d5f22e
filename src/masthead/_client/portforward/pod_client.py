"""What port-forward asks the API server about pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from masthead._client.portforward.backends import PodState
from masthead._client.read_verbs import ReadVerbs
from masthead._client.resource_target import untyped_target
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.unstructured import Unstructured
from masthead.errors import PortForwardError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._client.base import ClientContext
    from masthead._meta.object import Object
    from masthead._transport.websocket import WebSocket

__all__ = ["PodClient", "view_of"]

_View = TypeVar("_View")

PROTOCOL: Final = "SPDY/3.1+portforward.k8s.io"
"""SPDY inside of binary messages."""
_PODS: Final = untyped_target(
    GroupVersionResource("", "v1", "pods"), namespaced=True, gvk=GroupVersionKind("", "v1", "Pod")
)
_MAX_PODS: Final = 500
"""How many pods of a workload are looked at; any of them will do."""


class PodClient(ReadVerbs[Unstructured]):
    """The pods of a namespace, as far as port-forward needs them.

    Args:
        context: What all resource clients of one client share.
        namespace: The namespace.
        timeout: Timeout of each call, in seconds; None for the client's default.
    """

    def __init__(self, context: ClientContext, namespace: str, timeout: float | None) -> None:
        super().__init__(context, _PODS, namespace)
        self._timeout = timeout

    async def view(self, name: str) -> PodState:
        """Read a pod.

        Raises:
            MastheadError: As `ReadVerbs.get`.
        """
        return view_of(await self.get(name, timeout=self._timeout), PodState)

    async def views(self, selector: str) -> list[PodState]:
        """List pods by their labels.

        Raises:
            MastheadError: As `ReadVerbs.list`.
        """
        call = self._build_call(
            await self._target(),
            "list",
            # One page is enough to find a running pod.
            query=[("labelSelector", selector), ("limit", str(_MAX_PODS))],
            timeout=self._timeout,
        )
        response = await self._context.rest.call(call)
        return [view_of(item, PodState) for item in _PODS.items.from_wire(response.body).items]

    async def changes(self, name: str) -> AsyncIterator[PodState | None]:
        """The states of a pod from now on; None when it is deleted.

        Raises:
            MastheadError: As `ReadVerbs.watch`.
        """
        async with self.watch(field_selector={"metadata.name": name}) as events:
            async for event in events:
                if event.type == "DELETED":
                    yield None
                elif event.type in {"ADDED", "MODIFIED"}:
                    yield view_of(event.object, PodState)

    async def connect(self, name: str) -> WebSocket:
        """Open a WebSocket for one forwarded connection.

        Raises:
            MastheadError: As `RestClient.connect`.
        """
        call = self._build_call(
            await self._target(), "get", name=name, subresource="portforward", timeout=self._timeout
        )
        # Errors name the operation, not the GET that opens it.
        subject = msgspec.structs.replace(call.subject, verb="port-forward", resource="pods")
        return await self._context.rest.connect(msgspec.structs.replace(call, subject=subject), [PROTOCOL])


def view_of(obj: Object, kind: type[_View]) -> _View:
    """What matters of an object.

    Raises:
        PortForwardError: If it is of another kind.
    """
    try:
        return typeinfo.converter(kind)(obj.to_dict())
    except msgspec.ValidationError as error:
        raise PortForwardError(
            f"port-forward {obj.kind} {obj.key}: the server's object is malformed: {error}"
        ) from None
