"""Warnings about pods and pod templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.resources.names import label
from masthead_server.resources.warnings.addresses import address_warnings
from masthead_server.resources.warnings.container_ports import port_warnings
from masthead_server.resources.warnings.node_labels import DEPRECATED, expression_warnings, key_warnings
from masthead_server.resources.warnings.quantities import fraction_warnings
from masthead_server.resources.warnings.volumes import overlap_warnings, source_warnings
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.wire.plain import Plain

_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
SECCOMP_PREFIX_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_PREFIX: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
APPARMOR_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"
_ALPHA: Final = ".alpha.kubernetes.io/"
_BETA: Final = ".beta.kubernetes.io/"
_APPARMOR_TYPES: Final = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_BYTES: Final = ("memory", "ephemeral-storage")
_SELECTS_NONE: Final = "a null labelSelector results in matching no pod"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_warnings(pod: Plain) -> list[str]:
    """Return the warnings about a pod."""
    meta, spec = part(pod, "metadata"), part(pod, "spec")
    found: list[str] = []
    if message := label(text(meta, "name")):
        found.append(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior;"
            f" a DNS label is recommended: [{' '.join(message)}]"
        )
    return found + _spec_warnings("", meta, spec)


def template_warnings(path: str, template: Plain) -> list[str]:
    """Return the warnings about a template of pods."""
    return _spec_warnings(f"{path}.", part(template, "metadata"), part(template, "spec"), is_template=True)


def _spec_warnings(path: str, meta: Plain, spec: Plain, *, is_template: bool = False) -> list[str]:
    annotations = _old_annotations(meta)
    containers = _containers(f"{path}spec", spec)
    # Fields come in three parts, because kube-apiserver warns of annotations and containers between them.
    found = _field_warnings(_FIRST, path, spec)
    if annotations:
        found += _deprecated_annotations(path, annotations)
    found += _field_warnings(_SECOND, path, spec)
    if annotations and not part(spec, "securityContext").get("seccompProfile"):
        found += _warn_of_annotations(path, annotations, SECCOMP_PREFIX_POD, _SECCOMP)
    for at, container in containers:
        if annotations:
            found += _container_annotations(path, annotations, spec, container, is_template=is_template)
        if resources := container.get("resources"):
            found += _resource_warnings(f"{at}.resources", resources)
        if variables := container.get("env"):
            found += _hidden(f"{at}.env", variables)
    found += port_warnings(containers)
    return found + _field_warnings(_LAST, path, spec)


def _containers(path: str, spec: Plain) -> list[tuple[str, Plain]]:
    return [
        (f"{path}.{name}[{index}]", container)
        for name in _CONTAINERS
        if name in spec
        for index, container in enumerate(spec[name] or ())
    ]


def _field_warnings(
    checks: tuple[tuple[str, Callable[[str, Plain], list[str]]], ...], path: str, spec: Plain
) -> list[str]:
    found: list[str] = []
    for name, check in checks:
        if name in spec:
            found += check(f"{path}spec.{name}", spec)
    return found


def _node_selector(path: str, spec: Plain) -> list[str]:
    return [f"{path}[{key}]: {DEPRECATED[key]}" for key in part(spec, "nodeSelector") if key in DEPRECATED]


def _node_affinity(path: str, spec: Plain) -> list[str]:
    affinity = part(part(spec, "affinity"), "nodeAffinity")
    if not affinity:
        return []
    found: list[str] = []
    for index, term in enumerate(items(part(affinity, _REQUIRED), "nodeSelectorTerms")):
        found += expression_warnings(f"{path}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[{index}]", term)
    for index, term in enumerate(items(affinity, _PREFERRED)):
        at = f"{path}.nodeAffinity.{_PREFERRED}[{index}].preference"
        found += expression_warnings(at, part(term, "preference"), with_values=True)
    return found


def _spread(path: str, spec: Plain) -> list[str]:
    found: list[str] = []
    for index, constraint in enumerate(items(spec, "topologySpreadConstraints")):
        found += key_warnings(f"{path}[{index}].topologyKey", constraint.get("topologyKey"))
        if constraint.get("labelSelector") is None:
            found.append(f"{path}[{index}].labelSelector: {_SELECTS_NONE}")
    return found


def _repeated_hosts(path: str, spec: Plain) -> list[str]:
    return _find_repeated(path, items(spec, "hostAliases"), "ip")


def _pull_secrets(path: str, spec: Plain) -> list[str]:
    secrets = items(spec, "imagePullSecrets")
    empty = [
        f'{path}[{index}].name: invalid empty name ""'
        for index, secret in enumerate(secrets)
        if not text(secret, "name")
    ]
    return _find_repeated(path, secrets, "name") + empty


def _find_repeated(path: str, found: list[Plain], name: str) -> list[str]:
    seen: set[str] = set()
    repeated: list[str] = []
    for index, item in enumerate(found):
        value = text(item, name)
        if value in seen:
            repeated.append(f"{path}[{index}].{name}: duplicate {name} {quoted(value)}")
        seen.add(value)
    return repeated


def _overhead(path: str, spec: Plain) -> list[str]:
    amounts = part(spec, "overhead")
    return [message for name in _BYTES for message in fraction_warnings(path, amounts, name)]


def _grace_period(path: str, spec: Plain) -> list[str]:
    seconds = spec["terminationGracePeriodSeconds"]
    if not isinstance(seconds, int) or seconds >= 0:
        return []
    return [f"{path}: must be >= 0; negative values are invalid and will be treated as 1"]


def _pod_affinity(path: str, spec: Plain) -> list[str]:
    found: list[str] = []
    for side in ("podAffinity", "podAntiAffinity"):
        affinity = part(part(spec, "affinity"), side)
        if not affinity:
            continue
        for index, term in enumerate(items(affinity, _REQUIRED)):
            if term.get("labelSelector") is None:
                found.append(f"{path}.{side}.{_REQUIRED}[{index}].labelSelector: {_SELECTS_NONE}")
        for index, term in enumerate(items(affinity, _PREFERRED)):
            if part(term, "podAffinityTerm").get("labelSelector") is None:
                at = f"{path}.{side}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector"
                found.append(f"{at}: {_SELECTS_NONE}")
    return found


def _name_servers(path: str, spec: Plain) -> list[str]:
    found: list[str] = []
    for index, value in enumerate(part(spec, "dnsConfig").get("nameservers") or ()):
        found += address_warnings(f"{path}.nameservers[{index}]", value)
    return found


def _host_addresses(path: str, spec: Plain) -> list[str]:
    found: list[str] = []
    for index, alias in enumerate(items(spec, "hostAliases")):
        found += address_warnings(f"{path}[{index}].ip", text(alias, "ip"))
    return found


# The fields of a pod's spec that have warnings, in the order in which they are given; annotations and
# containers come between them.
_FIRST: Final = (
    ("nodeSelector", _node_selector),
    ("affinity", _node_affinity),
    ("topologySpreadConstraints", _spread),
)
_SECOND: Final = (
    ("volumes", source_warnings),
    ("volumes", overlap_warnings),
    ("hostAliases", _repeated_hosts),
    ("imagePullSecrets", _pull_secrets),
    ("overhead", _overhead),
)
_LAST: Final = (
    ("terminationGracePeriodSeconds", _grace_period),
    ("affinity", _pod_affinity),
    ("dnsConfig", _name_servers),
    ("hostAliases", _host_addresses),
)


def _old_annotations(meta: Plain) -> Plain:
    """Choose the annotations that may have warnings, which hardly any pod has."""
    given: Plain = meta.get("annotations") or {}
    return {key: value for key, value in given.items() if _ALPHA in key or _BETA in key}


def _warn_of_annotations(path: str, annotations: Plain, key: str, message: str) -> list[str]:
    return [f"{path}metadata.annotations[{key}]: {message}"] if key in annotations else []


def _deprecated_annotations(path: str, annotations: Plain) -> list[str]:
    return [
        text for key, message in _ANNOTATIONS.items() for text in _warn_of_annotations(path, annotations, key, message)
    ]


def _container_annotations(
    path: str, annotations: Plain, spec: Plain, container: Plain, *, is_template: bool
) -> list[str]:
    found: list[str] = []
    if not part(container, "securityContext").get("seccompProfile"):
        found += _warn_of_annotations(path, annotations, SECCOMP_PREFIX + text(container, "name"), _SECCOMP)
    # A pod has got this warning by now.
    return found + warn_of_apparmor_annotation(path, annotations, spec, container) if is_template else found


def warn_of_apparmor_annotation(path: str, annotations: Plain, spec: Plain, container: Plain) -> list[str]:
    """Warn of an annotation that no field repeats, neither the container's nor the pod's."""
    key = APPARMOR_PREFIX + text(container, "name")
    if key not in annotations or part(container, "securityContext").get("appArmorProfile"):
        return []
    of_pod = part(spec, "securityContext").get("appArmorProfile")
    if of_pod and of_pod == apparmor_profile(annotations[key]):
        return []
    return _warn_of_annotations(path, annotations, key, _APPARMOR)


def apparmor_profile(annotation: str) -> Plain | None:
    """Return the AppArmor profile that an annotation names; None for an invalid one."""
    if known := _APPARMOR_TYPES.get(annotation):
        return {"type": known}
    prefix, _, profile = annotation.partition("/")
    if prefix == "localhost" and profile:
        return {"type": "Localhost", "localhostProfile": profile}
    return None


def _resource_warnings(path: str, resources: Plain) -> list[str]:
    limits: Plain = resources.get("limits") or {}
    requests: Plain = resources.get("requests") or {}
    found: list[str] = []
    for name in _BYTES:
        if name in limits:
            found += fraction_warnings(f"{path}.limits", limits, name)
        if name in requests:
            found += fraction_warnings(f"{path}.requests", requests, name)
    return found


def _hidden(path: str, variables: list[Plain]) -> list[str]:
    """Warn of variables that hide an earlier one of their name without building on it."""
    # Names hardly ever repeat.
    if len({variable.get("name") for variable in variables}) == len(variables):
        return []
    seen: set[str] = set()
    found: list[str] = []
    for index, env in enumerate(variables):
        name, value = text(env, "name"), text(env, "value")
        earlier = f"$({name})"
        builds_on_it = earlier in value and value != earlier and not env.get("valueFrom")
        if name in seen and not builds_on_it:
            why = f"hides previous definition of {quoted(name)}, which may be dropped when using apply"
            found.append(f"{path}[{index}]: {why}")
        seen.add(name)
    return found
