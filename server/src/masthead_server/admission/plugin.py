"""What an admission plugin is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource

__all__ = ["AdmissionPlugin", "PluginEntry"]


class AdmissionPlugin:
    """Changes or refuses requests. A plugin overrides `admit`, `validate`, or both.

    Args:
        cluster: The cluster state, which may hold objects already.
    """

    name: ClassVar[str]
    """kube-apiserver's name of the plugin."""

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether it decides about an operation on a resource; asked once for each."""
        raise NotImplementedError

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Mutating admission, before validation: change the object, or refuse the request.

        Raises:
            StatusFailure: If the request is refused.
        """

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Validating admission, after validation: refuse the request, or let it pass unchanged.

        Raises:
            StatusFailure: If the request is refused.
        """


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin of the chain, which is made when it first decides about something.

    Attributes:
        name: kube-apiserver's name of the plugin.
        make: Makes the plugin.
        configured_by: The table of its configurations: the plugin decides only while there are any. Empty for a plugin
            without configurations.
        may_wait: Whether it waits for other servers, so that requests need a deadline.
    """

    name: str
    make: Callable[[ClusterState], AdmissionPlugin]
    configured_by: str = ""
    may_wait: bool = False
