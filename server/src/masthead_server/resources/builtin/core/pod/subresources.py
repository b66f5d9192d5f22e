"""Subresources of Pods that are written as the Pod itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import forbidden
from masthead_server.resources.behavior import StrategyHooks, SubresourceBehavior, WarningHooks
from masthead_server.resources.builtin.core.pod.annotations import annotation_errors
from masthead_server.resources.builtin.core.pod.resize import merge_resize, resize_errors
from masthead_server.resources.builtin.core.pod.validation import pod_errors
from masthead_server.resources.builtin.core.pod.warnings import pod_status_warnings
from masthead_server.resources.defaulting.disabled_pod_fields import drop_disabled_fields
from masthead_server.resources.strategy import SYSTEM_METADATA
from masthead_server.resources.validation.pod_annotations import MIRROR
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead._schema.errors import FieldError
    from masthead_server.wire.plain import Plain


def _merge_ephemeral_containers(new: Plain, old: Plain) -> Plain:
    """``pods/ephemeralcontainers``: containers for debugging."""
    spec = {**part(old, "spec")}
    spec.pop("ephemeralContainers", None)
    if containers := part(new, "spec").get("ephemeralContainers"):
        spec["ephemeralContainers"] = containers
        drop_disabled_fields(spec, part(old, "spec"))
    return {**old, "metadata": _kept_metadata(new, old), "spec": spec}


def _kept_metadata(new: Plain, old: Plain) -> Plain:
    """The metadata after a write that keeps the same system fields as a write of the status."""
    stored = part(old, "metadata")
    meta = {name: value for name, value in part(new, "metadata").items() if name not in SYSTEM_METADATA}
    return meta | {name: value for name, value in stored.items() if name in SYSTEM_METADATA}


def _ephemeral_container_errors(new: Plain, old: Plain) -> list[FieldError]:
    """Refuse to remove or change a container for debugging."""
    path, meta = "spec.ephemeralContainers", part(new, "metadata")
    if MIRROR in part(part(old, "metadata"), "annotations"):
        return [forbidden("", "static pods do not support ephemeral containers")]
    wanted = {
        ephemeral_container.get("name"): ephemeral_container
        for ephemeral_container in items(part(new, "spec"), "ephemeralContainers")
    }
    errors = annotation_errors(new) + pod_errors(part(new, "spec"), text(meta, "name"))
    for ephemeral_container in items(part(old, "spec"), "ephemeralContainers"):
        # A container that has run cannot be undone, so that the list only grows.
        label = f"existing ephemeral containers {quoted(ephemeral_container['name'])} may not be"
        if ephemeral_container["name"] not in wanted:
            errors.append(forbidden(path, f"{label} removed\n"))
        elif wanted[ephemeral_container["name"]] != ephemeral_container:
            # differs from kube-apiserver, which appends the difference.
            errors.append(forbidden(path, f"{label} changed"))
    return errors


def _merge_resources(new: Plain, old: Plain) -> Plain:
    """``pods/resize``: the resources of the pod and its containers."""
    return {**old, "metadata": _kept_metadata(new, old), "spec": merge_resize(new, old)}


def _take_all(new: Plain, _: Plain) -> Plain:
    """``pods/binding``: the server itself made the change."""
    return new


SUBRESOURCES: Final = {
    "binding": SubresourceBehavior(merge=_take_all),
    "ephemeralcontainers": SubresourceBehavior(
        merge=_merge_ephemeral_containers,
        hooks=StrategyHooks(validate_status=_ephemeral_container_errors),
        raises_generation=True,
    ),
    "resize": SubresourceBehavior(
        merge=_merge_resources, hooks=StrategyHooks(validate_status=resize_errors), raises_generation=True
    ),
    "status": SubresourceBehavior(warnings=WarningHooks(on_update=pod_status_warnings)),
}
