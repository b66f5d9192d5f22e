"""AlwaysPullImages: new images are always pulled, so that pods need the credentials for them. Off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.resources.validation.checks import unsupported
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["AlwaysPullImages"]

_ALWAYS = "Always"


class AlwaysPullImages(AdmissionPlugin):
    """Sets the pull policy of containers and image volumes."""

    name = "AlwaysPullImages"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a pod."""
        return operation in {Operation.CREATE, Operation.UPDATE} and served.table == "pods" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Set the policy, unless an update has no new image."""
        if _has_new_images(attributes):
            for _, owner, field in _list_policies(part(attributes.object or {}, "spec")):
                owner[field] = _ALWAYS

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse a policy that a later plugin set."""
        if not _has_new_images(attributes):
            return
        refusals = [
            forbid(attributes, str(unsupported(path, owner.get(field), [_ALWAYS])))
            for path, owner, field in _list_policies(part(attributes.object or {}, "spec"))
            if owner.get(field) != _ALWAYS
        ]
        if refusals:
            messages = list(dict.fromkeys(refusal.message for refusal in refusals))
            listed = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
            # kube-apiserver joins the errors, and loses their reason and code.
            raise StatusFailure(500, "", listed)


def _has_new_images(attributes: AdmissionAttributes) -> bool:
    if attributes.operation is Operation.CREATE:
        return True
    known = {container.get("image") for _, container in _list_containers(part(attributes.old or {}, "spec"))}
    new = {container.get("image") for _, container in _list_containers(part(attributes.object or {}, "spec"))}
    return not new <= known


def _list_containers(spec: Plain) -> Iterator[tuple[str, Plain]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(items(spec, field)):
            yield f"spec.{field}[{index}]", container


def _list_policies(spec: Plain) -> Iterator[tuple[str, Plain, str]]:
    """Iterate over the paths, the owners and the names of the fields with a pull policy."""
    for path, container in _list_containers(spec):
        yield f"{path}.imagePullPolicy", container, "imagePullPolicy"
    for index, volume in enumerate(items(spec, "volumes")):
        if volume.get("image") is not None:
            yield f"spec.volumes[{index}].image.pullPolicy", volume["image"], "pullPolicy"
