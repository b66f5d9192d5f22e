"""Changes of the pod template of a Job, which is immutable while the Job has pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources.validation.checks import IMMUTABLE, same_structs
from masthead_server.resources.validation.internal_types import inner_pod_spec
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["template_changes"]

_DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")
_NODES: Final = "nodeAffinity"


def template_changes(new: Plain, old: Plain, *, is_idle: bool) -> Errors:
    """Return the errors of a change of a pod template.

    Args:
        new: The template.
        old: The stored one.
        is_idle: Whether the Job is suspended and has no pods. Then labels, annotations, the directives for the
            scheduler and the resources of containers may change.
    """
    spec, stored = part(new, "spec"), part(old, "spec")
    if is_idle:
        allowed = _with_new_resources(_with_new_directives(stored, spec), spec)
        # Without its metadata: of that, a template of pods has nothing else.
        return [] if same_structs(spec, allowed) else [invalid("spec.template.spec", inner_pod_spec(spec), IMMUTABLE)]
    if same_structs(new, old):
        return []
    # The message shows kube-apiserver's internal type of a template.
    shown = {**part(new, "metadata"), "Spec": inner_pod_spec(spec)}
    return [invalid("spec.template", shown, IMMUTABLE)]


def _with_new_directives(stored: Plain, spec: Plain) -> Plain:
    """Return a stored spec with the new directives for the scheduler: which nodes may run the pods."""
    mixed = {key: value for key, value in stored.items() if key not in {*_DIRECTIVES, "affinity"}}
    mixed |= {key: value for key, value in spec.items() if key in _DIRECTIVES}
    now, then = part(spec, "affinity"), part(stored, "affinity")
    # Affinity to other pods stays.
    affinity = {key: value for key, value in then.items() if key != _NODES}
    affinity |= {_NODES: now[_NODES]} if now.get(_NODES) is not None else {}
    return {**mixed, "affinity": affinity} if affinity or spec.get("affinity") is not None else mixed


def _with_new_resources(stored: Plain, spec: Plain) -> Plain:
    """Return a stored spec whose containers have the new resources."""
    mixed = dict(stored)
    for field in ("containers", "initContainers"):
        now, then = items(spec, field), items(stored, field)
        if now and len(now) == len(then):
            mixed[field] = [_take_resources(*pair) for pair in zip(then, now, strict=True)]
    return mixed


def _take_resources(stored: Plain, container: Plain) -> Plain:
    if stored.get("name") != container.get("name"):
        return stored
    return {**stored, "resources": container.get("resources")}
