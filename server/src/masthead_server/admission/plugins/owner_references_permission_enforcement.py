"""OwnerReferencesPermissionEnforcement: owner references need permissions. Off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.gvk import GroupVersion
from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["OwnerReferencesPermissionEnforcement"]


class OwnerReferencesPermissionEnforcement(AdmissionPlugin):
    """Refuses owner references of users who may not delete the object, or not finalize the owner that it blocks."""

    name = "OwnerReferencesPermissionEnforcement"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes an object with metadata."""
        is_write = operation in {Operation.CREATE, Operation.UPDATE}
        return is_write and not (served.table == "pods" and subresource == "status")

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check changed owner references."""
        new, old = _owners_of(attributes.object), _owners_of(attributes.old)
        if new == old:
            return
        if attributes.operation is Operation.UPDATE:
            self._check_deletion(attributes)
        blocking = _list_new_blocks(new, old)
        if not blocking or self._may_finalize_anything(attributes):
            return
        for reference in blocking:
            self._check_owner(attributes, reference)

    def _check_deletion(self, attributes: AdmissionAttributes) -> None:
        served = attributes.served
        outcome = self.cluster.authorizer.authorize(
            AuthorizationAttributes(
                attributes.user,
                "delete",
                attributes.namespace,
                served.group,
                served.version,
                served.name,
                attributes.subresource,
                attributes.name,
            )
        )
        if not outcome.is_allowed:
            why = f"cannot set an ownerRef on a resource you can't delete: {outcome.reason}, <nil>"
            raise forbid(attributes, why)

    def _may_finalize_anything(self, attributes: AdmissionAttributes) -> bool:
        wanted = AuthorizationAttributes(
            attributes.user, "update", group="*", version="*", resource="*", subresource="finalizers", name="*"
        )
        return self.cluster.authorizer.authorize(wanted).is_allowed

    def _check_owner(self, attributes: AdmissionAttributes, reference: Plain) -> None:
        api_version, kind = text(reference, "apiVersion"), text(reference, "kind")
        group_version = GroupVersion.parse(api_version)
        owner = self.cluster.catalog.by_kind(group_version.kind(kind))
        if owner is None:
            known = f'no matches for kind "{kind}" in version "{api_version}"'
            why = f"because cannot find RESTMapping for APIVersion {api_version} Kind {kind}: {known}"
            raise forbid(attributes, f"cannot set blockOwnerDeletion in this case {why}")
        wanted = AuthorizationAttributes(
            attributes.user,
            "update",
            # An owner with a namespace is in that of the object.
            attributes.namespace if owner.is_namespaced else "",
            owner.group,
            owner.version,
            owner.name,
            "finalizers",
            text(reference, "name"),
        )
        outcome = self.cluster.authorizer.authorize(wanted)
        if not outcome.is_allowed:
            why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"
            raise forbid(attributes, f"{why}: {outcome.reason}, <nil>")


def _owners_of(found: Plain | None) -> list[Plain]:
    return items(part(found or {}, "metadata"), "ownerReferences")


def _list_new_blocks(new: list[Plain], old: list[Plain]) -> list[Plain]:
    """Return the references that block the deletion of their owner, and did not before."""
    known = {text(reference, "uid") for reference in old if reference.get("blockOwnerDeletion")}
    return [item for item in new if item.get("blockOwnerDeletion") and text(item, "uid") not in known]
