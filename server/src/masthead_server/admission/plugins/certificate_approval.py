"""CertificateApproval: only who may approve for a signer approves or denies its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.admission.signers import REQUESTS, may_use_signer, signer_of

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["CertificateApproval"]


class CertificateApproval(AdmissionPlugin):
    """Refuses approvals by users who may not ``approve`` for the signer."""

    name = "CertificateApproval"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation approves or denies a request."""
        return operation is Operation.UPDATE and served.table == REQUESTS and subresource == "approval"

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the user against the signer of the stored request."""
        signer = signer_of(attributes.old)
        if not may_use_signer(self.cluster, attributes.user, "approve", signer):
            raise forbid(attributes, f"user not permitted to approve requests with signerName {quoted(signer)}")
