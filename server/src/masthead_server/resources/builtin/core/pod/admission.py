"""Admission of pods: default tolerations, priority, runtime class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

_PATIENCE_SECONDS: Final = 300
_LOST_NODE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_ORDINARY: Final[Plain] = {"value": 0}
_PREEMPT: Final = "PreemptLowerPriority"


def tolerate_lost_nodes(spec: Plain) -> None:
    """Add the default tolerations for nodes that are not ready or unreachable."""
    tolerations = items(spec, "tolerations")
    # A toleration without a key tolerates every taint of its effect.
    tolerated = {
        text(toleration, "key") for toleration in tolerations if toleration.get("effect") in {None, "", "NoExecute"}
    }
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _PATIENCE_SECONDS}
        for key in _LOST_NODE
        if key not in tolerated and "" not in tolerated
    ]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def _class_of(name: str, allocate: Allocator) -> Plain | None:
    """Find the class of a pod: the one it names, or else the default with the lowest value."""
    classes = allocate.listed("scheduling.k8s.io", "priorityclasses")
    if name:
        return next(
            # System classes work even before the server has created their objects.
            (priority_class for priority_class in classes if metadata(priority_class).get("name") == name),
            _system_class(name),
        )
    defaults = [class_ for class_ in classes if class_.get("globalDefault")]
    # Admission allows one default; should a race have created two, the lowest value wins.
    return min(defaults, key=lambda class_: class_.get("value", 0), default=_ORDINARY)


def _system_class(name: str) -> Plain | None:
    if name not in _SYSTEM_CLASSES:
        return None
    return {"metadata": {"name": name}, "value": _SYSTEM_CLASSES[name]}


def admit_pod(pod: Plain, allocate: Allocator) -> StatusFailure | None:
    """Set the priority of a new Pod; return why the Pod is refused, or None."""
    spec, name = pod["spec"], text(metadata(pod), "name")
    wanted = text(spec, "priorityClassName")
    found = _class_of(wanted, allocate)
    if found is None:
        return _refusal(name, f"no PriorityClass with name {wanted} was found")
    value, policy = found.get("value", 0), found.get("preemptionPolicy", _PREEMPT)
    # A client may repeat what the admission plugin computes, but not contradict it.
    given = spec.get("priority")
    if given is not None and given != value:
        return _refusal(name, _clash(f"integer value of priority ({given})", value))
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        return _refusal(name, _clash(f"string value of PreemptionPolicy ({given})", policy))
    spec["priority"], spec["preemptionPolicy"] = value, policy
    # Without a default class, the pod gets priority 0 and no class name.
    if part(found, "metadata").get("name"):
        spec["priorityClassName"] = found["metadata"]["name"]
    return _missing_runtime(pod, allocate)


def _missing_runtime(pod: Plain, allocate: Allocator) -> StatusFailure | None:
    wanted = pod["spec"].get("runtimeClassName")
    classes = allocate.listed("node.k8s.io", "runtimeclasses") if wanted else ()
    if not wanted or any(metadata(class_).get("name") == wanted for class_ in classes):
        return None
    why = f"pod rejected: RuntimeClass {quoted(wanted)} not found"
    return _refusal(text(metadata(pod), "name"), why)


def _clash(given: str, computed: object) -> str:
    return (
        f"the {given} must not be provided in pod spec; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


def _refusal(name: str, why: str) -> StatusFailure:
    details = {"name": name, "kind": "pods"} if name else {"kind": "pods"}
    return StatusFailure(403, "Forbidden", f"pods {quoted(name)} is forbidden: {why}", details=details)
