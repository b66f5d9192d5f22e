"""``pods/resize``: other resources for a pod and its containers, which may be running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid
from masthead_server.resources.builtin.core.pod.qos import qos_class
from masthead_server.resources.builtin.core.pod.validation import pod_errors
from masthead_server.resources.validation.checks import amount
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_SIDES: Final = ("requests", "limits")
_KINDS: Final = ("initContainers", "containers")
_MUTABLE: Final = frozenset({"cpu", "memory"})
_MIRROR: Final = "kubernetes.io/config.mirror"


def merge_resize(new: Plain, old: Plain) -> Plain:
    """Return the spec after a resize: only resources change, unless the containers are others, which is refused."""
    wanted, spec = part(new, "spec"), {**part(old, "spec")}
    if any(_names(wanted, kind) != _names(spec, kind) for kind in _KINDS):
        return wanted
    for kind in _KINDS:
        if kind in spec:
            pairs = zip(items(spec, kind), items(wanted, kind), strict=True)
            spec[kind] = [_take_resources(container, sent) for container, sent in pairs]
    spec.pop("resources", None)
    return {**spec, "resources": wanted["resources"]} if wanted.get("resources") is not None else spec


def resize_errors(new: Plain, old: Plain) -> Errors:
    """Return the errors of a resize."""
    spec, before, status = part(new, "spec"), part(old, "spec"), part(old, "status")
    if _MIRROR in part(part(old, "metadata"), "annotations"):
        return [forbidden("", "static pods cannot be resized")]
    if text(part(before, "os"), "name") == "windows":
        return [forbidden("", "windows pods cannot be resized")]
    errors = pod_errors(spec, text(part(new, "metadata"), "name"))
    known = text(status, "qosClass") or qos_class(before)
    if qos_class(spec) != known:
        errors.append(invalid("spec", known, "Pod QOS Class may not change as a result of resizing"))
    running = [item for item in items(status, "containerStatuses") if part(item, "state").get("running") is not None]
    if running and running[0].get("resources") is None:
        errors.append(forbidden("spec", "Pod running on node without support for resize"))
    errors += _own_resource_errors(spec, before)
    if order := _order_errors(spec, before):
        return errors + order
    for kind in _KINDS:
        for index, (container, stored) in enumerate(zip(items(spec, kind), items(before, kind), strict=True)):
            where = f"spec.{kind}[{index}].resources"
            errors += _removal_errors(part(container, "resources"), part(stored, "resources"), where, "resource")
    return errors + _change_errors(spec, before)


def _names(spec: Plain, kind: str) -> list[str]:
    return [text(container, "name") for container in items(spec, kind)]


def _take_resources(container: Plain, sent: Plain) -> Plain:
    kept = {name: value for name, value in container.items() if name not in {"resources", "resizePolicy"}}
    return {**kept, **{name: sent[name] for name in ("resources", "resizePolicy") if name in sent}}


def _own_resource_errors(spec: Plain, before: Plain) -> Errors:
    """Refuse to remove resources that the pod states for itself."""
    if before.get("resources") is None:
        return []
    if spec.get("resources") is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")]
    now, then = part(spec, "resources"), part(before, "resources")
    errors = _removal_errors(now, then, "spec.resources", "pod-level resource")
    if not _is_same_but_cpu_and_memory(now, then):
        errors.append(forbidden("spec", "only cpu and memory resources are mutable at pod-level"))
    return errors


def _order_errors(spec: Plain, before: Plain) -> Errors:
    errors: Errors = []
    for kind in reversed(_KINDS):
        now, then = _names(spec, kind), _names(before, kind)
        if len(now) != len(then):
            errors.append(forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize"))
            continue
        errors += [
            forbidden(f"spec.{kind}[{index}].name", f"{kind} may not be renamed or reordered on resize")
            for index, (name, stored) in enumerate(zip(now, then, strict=True))
            if name != stored
        ]
    return errors


def _removal_errors(now: Plain, then: Plain, path: str, what: str) -> Errors:
    return [
        forbidden(f"{path}.{side}", f"{what} {side} cannot be removed")
        for side in _SIDES
        if not part(then, side).keys() <= part(now, side).keys()
    ]


def _change_errors(spec: Plain, before: Plain) -> Errors:
    """Refuse changes of other resources than cpu and memory."""
    errors: Errors = []
    for kind in reversed(_KINDS):
        for index, (container, stored) in enumerate(zip(items(spec, kind), items(before, kind), strict=True)):
            resources = [part(item, "resources") for item in (container, stored)]
            # Everything else was taken from the stored container.
            same_policy = container.get("resizePolicy") == stored.get("resizePolicy")
            if same_policy and _is_same_but_cpu_and_memory(*resources):
                continue
            if kind == "containers":
                errors.append(forbidden("spec", "only cpu and memory resources are mutable"))
            else:
                why = "only cpu and memory resources for init or sidecar containers are mutable"
                errors.append(forbidden(f"spec.initContainers[{index}]", why))
    return errors


def _is_same_but_cpu_and_memory(now: Plain, then: Plain) -> bool:
    return all(_fixed(now, side) == _fixed(then, side) for side in _SIDES)


def _fixed(resources: Plain, side: str) -> dict[str, int]:
    return {name: amount(value).nanos for name, value in part(resources, side).items() if name not in _MUTABLE}
