"""Defaults of ReplicationControllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain


def _copy_template_labels(controller: Plain) -> None:
    labels = part(part(part(part(controller, "spec"), "template"), "metadata"), "labels")
    if not labels:
        return
    if not controller["spec"].get("selector"):
        controller["spec"]["selector"] = dict(labels)
    if not metadata(controller).get("labels"):
        metadata(controller)["labels"] = dict(labels)


DEFAULTS: Final[Fill] = shape(
    always={"spec": shape(unset={"replicas": 1}, inside={"template": TEMPLATE})},
    then=_copy_template_labels,
)
