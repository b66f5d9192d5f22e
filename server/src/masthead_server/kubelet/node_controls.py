"""`KubeletNodes`: the controls of the nodes of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from masthead._module import set_module
from masthead.errors import NotFoundError
from masthead_server.kubelet.pod_names import node_name
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead._meta.object import Object
    from masthead_server.kubelet.nodes import NodeRegistry

__all__ = ["KubeletNodes"]

ResultT = TypeVar("ResultT")


class _CallInLoop(Protocol):
    def __call__(self, act: Callable[[], ResultT], /) -> ResultT: ...


@set_module("masthead.server")
class KubeletNodes:
    """The nodes of an embedded server: `Kubelet.nodes`. All methods are thread-safe."""

    def __init__(
        self,
        registry: NodeRegistry,
        call: _CallInLoop,
        perform: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
    ) -> None:
        self._registry = registry
        self._call = call
        self._perform = perform

    @property
    def failed(self) -> list[str]:
        """The names of the failed nodes, in the order of their failures."""
        return self._call(lambda: self._registry.failed)

    def fail(self, node: str | Object) -> None:
        """Stop the kubelet of a node, as a crash or a lost network does.

        Its heartbeats stop, and the status of its pods no longer changes: none starts, ends or is removed. The
        controller ``node-lifecycle`` notices that after 50 seconds of the server's clock, and evicts pods 300 seconds
        later, unless their tolerations differ.

        Args:
            node: The node, or its name.

        Raises:
            NotFoundError: If there is no such node.
            ArgumentError: If the node is an object without a name.
        """
        name = node_name(node)
        try:
            self._call(lambda: self._registry.fail(name))
        except StatusFailure as failure:
            raise _not_found(failure, name) from None

    def recover(self, node: str | Object) -> None:
        """Start the kubelet of a failed node again: the node is ready, and its pods catch up.

        Args:
            node: The node, or its name.

        Raises:
            NotFoundError: If there is no such node.
            ArgumentError: If the node is an object without a name.
        """
        name = node_name(node)
        try:
            self._perform(lambda: self._registry.recover(name))
        except StatusFailure as failure:
            raise _not_found(failure, name) from None


def _not_found(failure: StatusFailure, name: str) -> NotFoundError:
    return NotFoundError(failure.message, verb="get", resource="nodes", name=name)
