"""Priority: the priority and the preemption policy of a pod come from its PriorityClass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object, list_objects
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["Priority"]

_CLASSES: Final = ("scheduling.k8s.io", "v1", "priorityclasses")
_TABLE: Final = "scheduling.k8s.io/priorityclasses"
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_PREEMPT: Final = "PreemptLowerPriority"
_DEFAULT_MARK: Final = b'"globalDefault":true'


class Priority(AdmissionPlugin):
    """Sets the priority of new pods, and allows one default class only."""

    name = "Priority"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a pod or a PriorityClass."""
        is_write = operation in {Operation.CREATE, Operation.UPDATE}
        return is_write and served.table in {"pods", _TABLE} and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Set the priority of a new pod, and keep that of a stored one."""
        if attributes.served.table != "pods" or attributes.object is None:
            return
        spec = attributes.object.setdefault("spec", {})
        if attributes.operation is Operation.CREATE:
            self._set_priority(attributes, spec)
        elif attributes.old is not None:
            _keep_priority(spec, part(attributes.old, "spec"))

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse a second default class."""
        found = attributes.object
        if attributes.served.table != _TABLE or found is None or not found.get("globalDefault"):
            return
        default = _find_default(self.cluster)
        if default is None:
            return
        name = text(part(default, "metadata"), "name")
        if attributes.operation is Operation.CREATE or name != text(part(found, "metadata"), "name"):
            raise forbid(attributes, f"PriorityClass {name} is already marked as default. Only one default can exist")

    def _set_priority(self, attributes: AdmissionAttributes, spec: Plain) -> None:
        wanted = text(spec, "priorityClassName")
        found = self._find_class(wanted)
        if found is None:
            raise forbid(attributes, f"no PriorityClass with name {wanted} was found")
        value, policy = found.get("value", 0), found.get("preemptionPolicy", _PREEMPT)
        # A client may repeat what the plugin computes, but not contradict it.
        given = spec.get("priority")
        if given is not None and given != value:
            raise forbid(attributes, _describe_clash(f"integer value of priority ({given})", value))
        given = spec.get("preemptionPolicy")
        if given is not None and given != policy:
            raise forbid(attributes, _describe_clash(f"string value of PreemptionPolicy ({given})", policy))
        spec["priority"], spec["preemptionPolicy"] = value, policy
        # Without a default class, the pod gets priority 0 and no class name.
        if name := text(part(found, "metadata"), "name"):
            spec["priorityClassName"] = name

    def _find_class(self, name: str) -> Plain | None:
        """Return the class of a pod: the named class, or else the default."""
        if not name:
            return _find_default(self.cluster) or {}
        found = find_object(self.cluster, *_CLASSES, name)
        # System classes work even before the server has created their objects.
        if found is None and name in _SYSTEM_CLASSES:
            return {"metadata": {"name": name}, "value": _SYSTEM_CLASSES[name]}
        return found


def _find_default(cluster: ClusterState) -> Plain | None:
    marked = list_objects(cluster, *_CLASSES, containing=_DEFAULT_MARK)
    classes = (found for found in marked if found.get("globalDefault"))
    # Two simultaneous creates may have made two defaults; the lowest value wins.
    return min(classes, key=lambda found: found.get("value", 0), default=None)


def _keep_priority(new: Plain, old: Plain) -> None:
    """Keep the fields that the plugin set: a client that sends its own manifest again lacks them."""
    for field in ("priority", "preemptionPolicy"):
        if new.get(field) is None and old.get(field) is not None:
            new[field] = old[field]


def _describe_clash(given: str, computed: object) -> str:
    return (
        f"the {given} must not be provided in pod spec; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )
