"""CertificateSigning: only who may sign for a signer issues its certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.admission.signers import REQUESTS, may_use_signer, signer_of
from masthead_server.resources.validation.checks import same
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["CertificateSigning"]


class CertificateSigning(AdmissionPlugin):
    """Refuses certificates of users who may not ``sign`` for the signer."""

    name = "CertificateSigning"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes the status of a request."""
        return operation is Operation.UPDATE and served.table == REQUESTS and subresource == "status"

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the user, if the certificate or the conditions change."""
        new, old = part(attributes.object or {}, "status"), part(attributes.old or {}, "status")
        if all(same(new.get(field), old.get(field)) for field in ("certificate", "conditions")):
            return
        signer = signer_of(attributes.old)
        if not may_use_signer(self.cluster, attributes.user, "sign", signer):
            raise forbid(attributes, f"user not permitted to sign requests with signerName {quoted(signer)}")
