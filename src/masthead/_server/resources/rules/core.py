"""Small kinds: what holds data, bounds others, or says what happened."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from masthead._server.resources import names
from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.rules.servicechecks import cidr_errors
from masthead._server.resources.rules.statuses import namespace_errors
from masthead._server.resources.validation.checks import (
    amount,
    each_of,
    follows,
    immutable,
    known_or_nothing,
    not_negative,
    one_of,
    same,
    texts_of,
    unique,
    unsupported,
    words,
)
from masthead._server.resources.validation.resource_requirements import (
    FOR_QUOTAS,
    container_name_errors,
    name_errors,
    quota_name_errors,
    value_errors,
)
from masthead._server.wire.failures import FieldError, duplicate, forbidden, invalid, required, too_long
from masthead._server.wire.go_json import problem_with
from masthead._server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead._server.resources.allocator import Allocator
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

_MEGABYTE: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"


def _prepare_namespace(namespace: Plain, _allocate: Allocator) -> None:
    spec = namespace.setdefault("spec", {})
    finalizers = words(spec, "finalizers")
    if "kubernetes" not in finalizers:
        spec["finalizers"] = [*finalizers, "kubernetes"]
    meta = metadata(namespace)
    meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": text(meta, "name")}
    namespace["status"] = {"phase": "Active"}


def _keep_finalizers(new: Plain, old: Plain) -> None:
    spec = new.setdefault("spec", {})
    spec.pop("finalizers", None)
    kept = words(part(old, "spec"), "finalizers")
    if kept:
        spec["finalizers"] = kept


def _encode_text(secret: Plain) -> None:
    """Move readable values to where all values are kept; a Secret never shows them again."""
    texts = part(secret, "stringData")
    secret.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
        secret["data"] = {**part(secret, "data"), **encoded}


def _carry_secret(new: Plain, old: Plain) -> None:
    _encode_text(new)
    if not new.get("type"):
        new["type"] = old.get("type")


def _key_errors(field: str, data: Plain) -> Errors:
    return [error for key in data for error in follows(f"{field}[{key}]", key, names.config_key)]


def _decoded(value: object) -> bytes:
    return base64.b64decode(value) if isinstance(value, str) else b""


_NEEDED: Final = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""Keys that a Secret of a type must have."""


def _secret_errors(secret: Plain) -> Errors:
    data, kind = part(secret, "data"), text(secret, "type")
    errors = _key_errors("data", data)
    if sum(len(_decoded(value)) for value in data.values()) > _MEGABYTE:
        errors.append(too_long("data", _MEGABYTE))
    errors += [required(f"data[{key}]") for key in _NEEDED.get(kind, ()) if key not in data]
    if kind.startswith("kubernetes.io/dockerc"):
        errors += _json_errors(data, _NEEDED[kind][0])
    elif kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        errors += [required("data[username]"), required("data[password]")]
    elif kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        errors.append(required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/service-account-token":
        key = "kubernetes.io/service-account.name"
        if not part(metadata(secret), "annotations").get(key):
            errors.append(required(f"metadata.annotations[{key}]"))
    return errors


def _json_errors(data: Plain, key: str) -> Errors:
    if key not in data:
        return []
    content = _decoded(data[key])
    why = problem_with(content) or _other_than_object(content.strip()[:1])
    return [invalid(f"data[{key}]", "<secret contents redacted>", why)] if why else []


_STARTS: Final = {b"[": "array", b'"': "string", b"t": "bool", b"f": "bool"}
"""How values in JSON begin, and what Go calls them; all others are numbers."""


def _other_than_object(start: bytes) -> str:
    if start in {b"{", b"n"}:
        return ""
    kind = _STARTS.get(start, "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def _frozen_errors(new: Plain, old: Plain, *fields: str) -> Errors:
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", _FROZEN)]
    return errors + [forbidden(each, _FROZEN) for each in fields if not same(new.get(each), old.get(each))]


def _secret_changes(new: Plain, old: Plain) -> Errors:
    errors = immutable("type", new.get("type"), old.get("type"))
    return errors + _frozen_errors(new, old, "data") + _secret_errors(new)


def _config_map_errors(config_map: Plain) -> Errors:
    data, binary = part(config_map, "data"), part(config_map, "binaryData")
    errors: Errors = []
    for key in data:
        path = f"data[{key}]"
        errors += follows(path, key, names.config_key)
        if key in binary:
            errors.append(invalid(path, key, "duplicate of key present in binaryData"))
    errors += _key_errors("binaryData", binary)
    size = sum(len(value.encode()) for value in data.values())
    size += sum(len(_decoded(value)) for value in binary.values())
    return [*errors, too_long("[]", _MEGABYTE)] if size > _MEGABYTE else errors


def _config_map_changes(new: Plain, old: Plain) -> Errors:
    return _frozen_errors(new, old, "data", "binaryData") + _config_map_errors(new)


_OF_PODS: Final = frozenset(
    {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
)
_SCOPES: Final = {
    **dict.fromkeys(
        ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"),
        _OF_PODS,
    ),
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""What a quota with a scope may bound."""


def _quota_errors(quota: Plain) -> Errors:
    spec = part(quota, "spec")
    errors: Errors = []
    for name, value in part(spec, "hard").items():
        path = f"spec.hard[{name}]"
        errors += quota_name_errors(path, name) + value_errors(path, name, value)
    scopes = words(spec, "scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
            continue
        apart = [name for name in part(spec, "hard") if name in FOR_QUOTAS and name not in _SCOPES[scope]]
        errors += [invalid("spec.scopes", scopes, "unsupported scope applied to resource") for _ in apart]
    for pair in ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}):
        if pair <= set(scopes):
            errors.append(invalid("spec.scopes", scopes, "conflicting scopes"))
    return errors


def _quota_status_errors(new: Plain, _old: Plain) -> Errors:
    errors: Errors = []
    for side in ("hard", "used"):
        for name, value in sorted(part(part(new, "status"), side).items()):
            path = f"status.{side}[{name}]"
            errors += quota_name_errors(path, name) + value_errors(path, name, value)
    return errors


def _quota_changes(new: Plain, old: Plain) -> Errors:
    now, then = (words(part(each, "spec"), "scopes") for each in (new, old))
    errors = _quota_errors(new)
    return errors if set(now) == set(then) else [*errors, invalid("spec.scopes", now, "field is immutable")]


_LIMITED: Final = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_ORDERED: Final = (
    ("min", "min", "max", "min value {} is greater than max value {}"),
    ("defaultRequest", "min", "defaultRequest", "min value {} is greater than default request value {}"),
    ("defaultRequest", "defaultRequest", "max", "default request value {} is greater than max value {}"),
    (
        "defaultRequest",
        "defaultRequest",
        "default",
        "default request value {} is greater than default limit value {}",
    ),
    ("default", "min", "default", "min value {} is greater than default value {}"),
    ("default", "default", "max", "default value {} is greater than max value {}"),
)
"""Where it is said, what must not be greater than what, and the words for it."""
_SHOWN: Final = {
    ("default", "default", "max"): "max",
    ("defaultRequest", "min", "defaultRequest"): "defaultRequest",
}
"""Which of the two amounts a message shows, where it is not the greater one."""


def _limit_range_errors(limit_range: Plain) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for at, limit in each_of(part(limit_range, "spec"), "limits", "spec"):
        kind = text(limit, "type")
        wrong = follows(f"{at}.type", kind, names.qualified_name)
        if not wrong and "/" not in kind and kind not in _LIMITED:
            why = "must be a standard limit type or fully qualified"
            wrong = [invalid(f"{at}.type", kind, why)]
        errors += wrong
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        errors += _limit_errors(limit, at, kind)
    return errors


def _limit_errors(limit: Plain, path: str, kind: str) -> Errors:
    errors: Errors = []
    check = container_name_errors if kind in {"Pod", "Container"} else name_errors
    sides = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    for side in sides:
        if kind == "Pod" and side.startswith("default"):
            if limit.get(side):
                errors.append(forbidden(f"{path}.{side}", "may not be specified when `type` is 'Pod'"))
            continue
        for name in part(limit, side):
            errors += check(f"{path}.{side}[{name}]", name)
    stated = {*part(limit, "min"), *part(limit, "max")}
    if kind == "PersistentVolumeClaim" and "storage" not in stated:
        why = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", why))
    for name in dict.fromkeys(name for side in sides for name in part(limit, side)):
        errors += _order_errors(limit, path, name)
    return errors


def _order_errors(limit: Plain, path: str, name: str) -> Errors:
    errors: Errors = []
    for place, low, high, why in _ORDERED:
        less, more = part(limit, low).get(name), part(limit, high).get(name)
        if less is not None and more is not None and amount(less) > amount(more):
            shown = part(limit, _SHOWN.get((place, low, high), low)).get(name)
            detail = why.format(amount(less), amount(more))
            errors.append(invalid(f"{path}.{place}[{name}]", shown, detail))
    ratio = part(limit, "maxLimitRequestRatio").get(name)
    if ratio is not None and amount(ratio) < 1:
        at = f"{path}.maxLimitRequestRatio[{name}]"
        errors.append(invalid(at, ratio, f"ratio {amount(ratio)} is less than 1"))
    return errors


_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_NO_CHANGE: Final = 'node updates may not change {} except from "" to valid'


def _prepare_node(node: Plain, _allocate: Allocator) -> None:
    """Keep pods from a node until something says that it is ready."""
    spec = node.setdefault("spec", {})
    taints = items(spec, "taints")
    if not any(all(each.get(key) == value for key, value in _NOT_READY.items()) for each in taints):
        spec["taints"] = [*taints, dict(_NOT_READY)]


def _forget_config(node: Plain) -> None:
    """Drop the state of a feature that is gone."""
    part(node, "status").pop("config", None)


def _node_errors(node: Plain) -> Errors:
    spec = part(node, "spec")
    errors = _taint_errors(spec) + _supply_errors(node)
    for at, network in texts_of(spec, "podCIDRs", "spec"):
        errors += cidr_errors(at, network)
    return errors


def _supply_errors(node: Plain) -> Errors:
    errors: Errors = []
    for side in ("capacity", "allocatable"):
        for name, value in sorted(part(part(node, "status"), side).items()):
            errors += value_errors(f"status.{side}.{name}", name, value)
    return errors


def _taint_errors(spec: Plain) -> Errors:
    errors: Errors = []
    seen: set[tuple[str, str]] = set()
    for at, taint in each_of(spec, "taints", "metadata"):
        key, effect = text(taint, "key"), text(taint, "effect")
        errors += follows(f"{at}.key", key, names.qualified_name)
        wrong = names.LABEL_VALUE(text(taint, "value"))
        if wrong:
            errors.append(invalid(f"{at}.value", text(taint, "value"), ";".join(wrong)))
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        if not effect:
            errors.append(required(f"{at}.effect"))
        elif effect not in effects:
            errors.append(unsupported(f"{at}.effect", effect, effects))
        if (key, effect) in seen:
            why = "taints must be unique by key and effect pair"
            errors.append(FieldError("FieldValueDuplicate", at, _shown_taint(taint), why))
        seen.add((key, effect))
    return errors


def _shown_taint(taint: Plain) -> Plain:
    """A taint as the real server's message shows it, which is how it holds one inside."""
    fields = {field.capitalize(): text(taint, field) for field in ("key", "value", "effect")}
    return {**fields, "TimeAdded": taint.get("timeAdded")}


def _node_changes(new: Plain, old: Plain) -> Errors:
    # The real server looks at most of a node twice, and says twice what is wrong with it.
    return _node_errors(new) + _node_status_errors(new, old)


def _node_status_errors(new: Plain, old: Plain) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    errors = _supply_errors(new)
    seen: set[tuple[str, str]] = set()
    for at, address in each_of(part(new, "status"), "addresses", "status"):
        identity = (text(address, "type"), text(address, "address"))
        if identity in seen:
            shown = {field.capitalize(): text(address, field) for field in ("type", "address")}
            errors.append(duplicate(at, shown))
        seen.add(identity)
    if before.get("podCIDRs") and after.get("podCIDRs") != before["podCIDRs"]:
        errors.append(forbidden("spec.podCIDRs", _NO_CHANGE.format("podCIDR")))
    if before.get("providerID") and after.get("providerID") != before["providerID"]:
        errors.append(forbidden("spec.providerID", _NO_CHANGE.format("providerID")))
    return errors + _taint_errors(after)


def _lease_errors(lease: Plain) -> Errors:
    spec = part(lease, "spec")
    errors: Errors = []
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    errors += not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    return errors


def _drop_election(lease: Plain) -> None:
    """Forget fields for elections that the server is to hold: that feature is off by default."""
    for field in ("strategy", "preferredHolder"):
        part(lease, "spec").pop(field, None)


_HIGHEST: Final = 1_000_000_000


def _priority_errors(found: Plain) -> Errors:
    name = text(metadata(found), "name")
    errors: Errors = []
    if name.startswith("system-"):
        why = "priority class names with 'system-' prefix are reserved for system use only. error: "
        if name not in {"system-node-critical", "system-cluster-critical"}:
            why += f"{name} is not a known system priority class"
            errors.append(forbidden("metadata.name", why))
    elif (found.get("value") or 0) > _HIGHEST:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        errors.append(forbidden("value", why))
    policies = ("PreemptLowerPriority", "Never")
    return errors + one_of("preemptionPolicy", found.get("preemptionPolicy"), policies)


def _priority_changes(new: Plain, old: Plain) -> Errors:
    errors: Errors = []
    if (new.get("value") or 0) != (old.get("value") or 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    return errors + immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


def _driver_errors(driver: Plain) -> Errors:
    spec = part(driver, "spec")
    known = ("File", "None", "ReadWriteOnceWithFSType")
    errors = known_or_nothing("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), known)
    seen: set[str] = set()
    for at, request in each_of(spec, "tokenRequests", "spec"):
        errors += unique(f"{at}.audience", text(request, "audience"), seen)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            why = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{at}.expirationSeconds", seconds, why))
    for mode in words(spec, "volumeLifecycleModes"):
        if mode not in _LIVES:
            errors.append(unsupported("spec.volumeLifecycleModes", mode, _LIVES))
    seconds = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if seconds is not None and seconds < 10:
        why = "must be greater than or equal to 10 seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", seconds, why))
    return errors


_LIVES: Final = ("Persistent", "Ephemeral")


def _driver_changes(new: Plain, old: Plain) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    field = "attachRequired"
    errors = _driver_errors(new) + immutable("spec.attachedRequired", after.get(field), before.get(field))
    field = "volumeLifecycleModes"
    return errors + immutable(f"spec.{field}", after.get(field), before.get(field))


RULES: Final = {
    "namespaces": StrategyHooks(
        prepare_create=_prepare_namespace, prepare_update=_keep_finalizers, validate_status=namespace_errors
    ),
    "secrets": StrategyHooks(
        prepare_create=lambda obj, _allocate: _encode_text(obj),
        prepare_update=_carry_secret,
        validate_create=_secret_errors,
        validate_update=_secret_changes,
    ),
    "configmaps": StrategyHooks(validate_create=_config_map_errors, validate_update=_config_map_changes),
    "resourcequotas": StrategyHooks(
        validate_create=_quota_errors, validate_update=_quota_changes, validate_status=_quota_status_errors
    ),
    "limitranges": StrategyHooks(
        validate_create=_limit_range_errors, validate_update=lambda new, _old: _limit_range_errors(new)
    ),
    "nodes": StrategyHooks(
        prepare_create=_prepare_node,
        validate_create=_node_errors,
        validate_update=_node_changes,
        prepare_status=lambda new, _old, _allocate: _forget_config(new),
        validate_status=_node_status_errors,
    ),
    "leases": StrategyHooks(
        prepare_create=lambda obj, _allocate: _drop_election(obj),
        prepare_update=lambda new, _old: _drop_election(new),
        validate_create=_lease_errors,
        validate_update=lambda new, _old: _lease_errors(new),
    ),
    "priorityclasses": StrategyHooks(validate_create=_priority_errors, validate_update=_priority_changes),
    "csidrivers": StrategyHooks(validate_create=_driver_errors, validate_update=_driver_changes),
}
