"""ClusterTrustBundleAttest: only who may attest for a signer writes its bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.admission.signers import may_use_signer, signer_of
from masthead_server.resources.validation.checks import same
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["ClusterTrustBundleAttest"]

_BUNDLES: Final = "certificates.k8s.io/clustertrustbundles"


class ClusterTrustBundleAttest(AdmissionPlugin):
    """Refuses bundles of users who may not ``attest`` for the signer."""

    name = "ClusterTrustBundleAttest"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a bundle."""
        return operation in {Operation.CREATE, Operation.UPDATE} and served.table == _BUNDLES and not subresource

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the user, unless only owners or finalizers change."""
        signer = signer_of(attributes.object)
        if not signer or _changes_only_owners(attributes.object or {}, attributes.old):
            return
        if not may_use_signer(self.cluster, attributes.user, "attest", signer):
            raise forbid(attributes, f"user not permitted to attest for signerName {quoted(signer)}")


def _changes_only_owners(new: Plain, old: Plain | None) -> bool:
    if old is None:
        return False
    kept = {name: part(old, "metadata").get(name) for name in ("ownerReferences", "finalizers", "managedFields")}
    return same({**new, "metadata": {**part(new, "metadata"), **kept}}, old)
