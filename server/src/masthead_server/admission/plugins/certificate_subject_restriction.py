"""CertificateSubjectRestriction: client certificates of the group system:masters are refused."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.admission.signers import REQUESTS, signer_of
from masthead_server.wire.certificate_requests import list_organizations
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["CertificateSubjectRestriction"]

_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"


class CertificateSubjectRestriction(AdmissionPlugin):
    """Refuses requests for client certificates of the group ``system:masters``: they could not be revoked."""

    name = "CertificateSubjectRestriction"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates a request."""
        return operation is Operation.CREATE and served.table == REQUESTS and not subresource

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the organizations of the subject."""
        if signer_of(attributes.object) != _CLIENT_SIGNER:
            return
        encoded = text(part(attributes.object or {}, "spec"), "request")
        try:
            organizations = list_organizations(base64.b64decode(encoded))
        except (ValueError, binascii.Error) as error:
            raise forbid(attributes, f"failed to parse CSR: {error}") from None
        if "system:masters" in organizations:
            raise forbid(attributes, f"use of {_CLIENT_SIGNER} signer with system:masters group is not allowed")
