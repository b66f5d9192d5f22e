"""DenyServiceExternalIPs: services get no new external addresses. Off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.resources.validation.checks import words
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["DenyServiceExternalIPs"]


class DenyServiceExternalIPs(AdmissionPlugin):
    """Refuses external addresses that the stored service does not have."""

    name = "DenyServiceExternalIPs"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a service."""
        return operation in {Operation.CREATE, Operation.UPDATE} and served.table == "services" and not subresource

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Compare the addresses."""
        known = set(words(part(attributes.old or {}, "spec"), "externalIPs"))
        if not known.issuperset(words(part(attributes.object or {}, "spec"), "externalIPs")):
            raise forbid(attributes, "Use of external IPs is denied by admission control")
