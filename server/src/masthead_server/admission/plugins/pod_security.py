"""PodSecurity: pods meet the Pod Security Standard that their namespace asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import list_objects
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.podsecurity.evaluation import describe, evaluate, list_reasons
from masthead_server.admission.podsecurity.policy import LABEL_PREFIX, UNRESTRICTED, Level, Policy, parse_policy
from masthead_server.admission.refusals import forbid
from masthead_server.wire.failures import refused_fields
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from masthead._schema.errors import FieldError
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.podsecurity.policy import LevelVersion
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["PodSecurity", "warn_of_pods"]

_TEMPLATES: Final = {
    "replicationcontrollers": ("spec", "template"),
    "podtemplates": ("template",),
    "apps/replicasets": ("spec", "template"),
    "apps/deployments": ("spec", "template"),
    "apps/statefulsets": ("spec", "template"),
    "apps/daemonsets": ("spec", "template"),
    "batch/jobs": ("spec", "template"),
    "batch/cronjobs": ("spec", "jobTemplate", "spec", "template"),
}
"""The path to the pod template, by table."""
_WRITES: Final = frozenset({Operation.CREATE, Operation.UPDATE})
_SPEC_SUBRESOURCES: Final = frozenset({"", "ephemeralcontainers", "resize"})
_MAX_PODS: Final = 3000
"""Pods of a namespace that are checked when its level changes."""


class PodSecurity(AdmissionPlugin):
    """Refuses pods that violate the enforced level; warns about them and about templates of workloads."""

    name = "PodSecurity"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a pod's spec, a template or a namespace."""
        if operation not in _WRITES:
            return False
        if served.table == "pods":
            return subresource in _SPEC_SUBRESOURCES
        return not subresource and (served.table == "namespaces" or served.table in _TEMPLATES)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the labels of a namespace, a pod or a template."""
        obj = attributes.object
        if obj is None:
            return
        table = attributes.served.table
        if table == "namespaces":
            self._check_namespace(attributes, obj)
            return
        policy, errors = self._find_policy(attributes.namespace)
        if table == "pods":
            self._check_pod(attributes, obj, policy, errors)
        elif errors or policy.audit.level or policy.warn.level:
            template = _find_template(obj, _TEMPLATES[table])
            if template is not None:
                _report(attributes, policy, errors, template, enforces=False)

    def _find_policy(self, namespace: str) -> tuple[Policy, list[FieldError]]:
        record = self.cluster.storage.table("namespaces").get(namespace)
        # Search the text first: most namespaces have no such label, and a parse is expensive.
        if record is None or LABEL_PREFIX.encode() not in record.value:
            return UNRESTRICTED, []
        served = self.cluster.catalog.require(GroupVersionResource("", "v1", "namespaces"))
        return parse_policy(_labels_of(served.load(record)))

    def _check_pod(self, attributes: AdmissionAttributes, pod: Plain, policy: Policy, errors: list[FieldError]) -> None:
        if not errors and policy.is_privileged:
            attributes.annotations[f"{LABEL_PREFIX}enforce-policy"] = str(UNRESTRICTED.enforce)
            return
        if attributes.old is None or _changes_images(pod, attributes.old):
            _report(attributes, policy, errors, pod, enforces=True)

    def _check_namespace(self, attributes: AdmissionAttributes, namespace: Plain) -> None:
        policy, errors = parse_policy(_labels_of(namespace))
        old_policy, old_errors = parse_policy(_labels_of(attributes.old or {}))
        if errors and errors != old_errors:
            raise refused_fields(attributes.kind.group, attributes.kind.kind, attributes.name, errors)
        if attributes.operation is Operation.UPDATE and _is_stricter(policy.enforce, old_policy.enforce):
            name = text(part(namespace, "metadata"), "name")
            pods = list_objects(self.cluster, "", "v1", "pods", namespace=name)
            attributes.warnings.extend(warn_of_pods(name, policy.enforce, pods))


def _is_stricter(new: LevelVersion, old: LevelVersion) -> bool:
    """Tell whether pods that the old mode allows might violate the new one."""
    return new != old and new.level is not Level.PRIVILEGED and (new.minor != old.minor or new.level > old.level)


def _report(
    attributes: AdmissionAttributes, policy: Policy, errors: Sequence[FieldError], pod: Plain, *, enforces: bool
) -> None:
    """Evaluate a pod or a template: annotate, then refuse or warn.

    Args:
        attributes: The request.
        policy: The policy of the namespace.
        errors: The errors of its labels.
        pod: The pod or the template.
        enforces: Whether the policy is enforced, rather than only reported.
    """
    meta, spec = part(pod, "metadata"), part(pod, "spec")
    results = {mode: evaluate(mode, meta, spec) for mode in set(policy)}
    annotations = attributes.annotations
    if errors:
        listed = ", ".join(f"{error.field}: {error.body}" for error in errors)
        listed = listed if len(errors) == 1 else f"[{listed}]"
        annotations[f"{LABEL_PREFIX}error"] = f"Failed to parse policy: {listed}"
    if enforces:
        annotations[f"{LABEL_PREFIX}enforce-policy"] = str(policy.enforce)
    if found := results[policy.audit]:
        annotations[f"{LABEL_PREFIX}audit-violations"] = (
            f'would violate PodSecurity "{policy.audit}": {describe(found)}'
        )
    if enforces and (found := results[policy.enforce]):
        raise forbid(attributes, f'violates PodSecurity "{policy.enforce}": {describe(found)}')
    if found := results[policy.warn]:
        attributes.warnings.append(f'would violate PodSecurity "{policy.warn}": {describe(found)}')


def _labels_of(namespace: Plain) -> Plain:
    return part(part(namespace, "metadata"), "labels")


def _find_template(obj: Plain, path: Sequence[str]) -> Plain | None:
    found: Plain | None = obj
    for field in path:
        found = None if found is None else found.get(field)
    return found


def _changes_images(pod: Plain, old: Plain) -> bool:
    """Tell whether an update adds a container or changes an image; no other field that the checks read can change."""
    new_spec, old_spec = part(pod, "spec"), part(old, "spec")
    for field in ("containers", "initContainers"):
        images = [container.get("image") for container in items(new_spec, field)]
        if images != [container.get("image") for container in items(old_spec, field)]:
            return True
    known = {text(item, "name"): item.get("image") for item in reversed(items(old_spec, "ephemeralContainers"))}
    return any(
        text(container, "name") not in known or known[text(container, "name")] != container.get("image")
        for container in items(new_spec, "ephemeralContainers")
    )


def warn_of_pods(namespace: str, mode: LevelVersion, pods: Iterable[Plain]) -> list[str]:
    """Return the warnings about the pods of a namespace that a new level would refuse.

    Args:
        namespace: The name of the namespace.
        mode: The level that it enforces from now on.
        pods: Its pods.
    """
    ordered = list(_prioritize(pods))
    names: dict[str, list[str]] = {}
    for pod in ordered[:_MAX_PODS]:
        if found := evaluate(mode, part(pod, "metadata"), part(pod, "spec")):
            names.setdefault(list_reasons(found), []).append(text(part(pod, "metadata"), "name"))
    warnings: list[str] = []
    if len(ordered) > _MAX_PODS:
        warnings.append(
            f"new PodSecurity enforce level only checked against the first {_MAX_PODS} of {len(ordered)} existing pods"
        )
    if names:
        warnings.append(f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{mode}"')
    return warnings + sorted(f"{_name_pods(named)}: {reasons}" for reasons, named in names.items())


def _name_pods(names: Sequence[str]) -> str:
    others = len(names) - 1
    more = f" (and {others} other {'pod' if others == 1 else 'pods'})" if others else ""
    return f"{min(names)}{more}"


def _prioritize(pods: Iterable[Plain]) -> Iterator[Plain]:
    """Order pods so that one of each controller comes before its replicas, which mostly look the same."""
    seen: set[str] = set()
    replicas: list[Plain] = []
    for pod in pods:
        owners = items(part(pod, "metadata"), "ownerReferences")
        uid = next((text(owner, "uid") for owner in owners if owner.get("controller")), None)
        if uid is not None and uid in seen:
            replicas.append(pod)
            continue
        if uid is not None:
            seen.add(uid)
        yield pod
    yield from replicas
