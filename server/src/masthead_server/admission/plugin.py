"""What an admission plugin is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource

__all__ = ["AdmissionPlugin"]


class AdmissionPlugin:
    """Changes or refuses requests. A plugin overrides `admit`, `validate`, or both.

    Args:
        cluster: The cluster state. Plugins are made before it holds any object.
    """

    name: ClassVar[str]
    """kube-apiserver's name of the plugin."""
    may_wait: ClassVar[bool] = False
    """Whether it waits for other servers, so that requests need a deadline."""
    configured_by: ClassVar[str] = ""
    """The table of its configurations: it is asked only while there are any. Empty for a plugin without."""

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
