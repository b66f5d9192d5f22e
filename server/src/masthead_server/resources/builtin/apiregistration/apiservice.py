"""APIServices: defaults and validation."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.defaulting.fill import SERVICE_REFERENCE, shape
from masthead_server.resources.validation.checks import each_of, follows, port, unsupported
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(inside={"spec": shape(inside={"service": SERVICE_REFERENCE})})

_PRIORITIES: Final = (("groupPriorityMinimum", 20000), ("versionPriority", 1000))
_STATUSES: Final = ("True", "False", "Unknown")


def service_errors(service: Plain) -> Errors:
    """Return the errors of an APIService."""
    spec = part(service, "spec")
    group, version = text(spec, "group"), text(spec, "version")
    errors: Errors = []
    # The core group is the only one without a name, and v1 its only version.
    if not group and version != "v1":
        why = "only v1 may have an empty group and it better be legacy kube"
        errors.append(required("spec.group", why))
    if group:
        errors += follows("spec.group", group, names.SUBDOMAIN)
    errors += follows("spec.version", version, names.LABEL_1035)
    # The message says "less than", but the maximum itself is valid.
    for field, most in _PRIORITIES:
        value = spec.get(field) or 0
        if not 0 < value <= most:
            errors.append(invalid(f"spec.{field}", value, f"must be positive and less than {most}"))
    return errors + (_local_errors(spec) if spec.get("service") is None else _remote_errors(spec))


def _local_errors(spec: Plain) -> Errors:
    errors: Errors = []
    if bundle := text(spec, "caBundle"):
        # The message shows the size, because kube-apiserver prints no certificates.
        size = f"{len(base64.b64decode(bundle))} bytes"
        errors.append(invalid("spec.caBundle", size, "local APIServices may not have a caBundle"))
    if spec.get("insecureSkipTLSVerify"):
        why = "local APIServices may not have insecureSkipTLSVerify"
        errors.append(invalid("spec.insecureSkipTLSVerify", value=True, detail=why))
    return errors


def _remote_errors(spec: Plain) -> Errors:
    service = part(spec, "service")
    errors: Errors = [required(f"spec.service.{field}") for field in ("namespace", "name") if not service.get(field)]
    number = service.get("port")
    errors += [invalid("spec.service.port", number, f"port is not valid: {item.detail}") for item in port("", number)]
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        why = "may not be true if caBundle is present"
        errors.append(invalid("spec.insecureSkipTLSVerify", value=True, detail=why))
    return errors


def status_errors(service: Plain) -> Errors:
    """Return the errors of the status of an APIService."""
    return [
        unsupported(f"{at}.status", text(condition, "status"), _STATUSES)
        for at, condition in each_of(part(service, "status"), "conditions", "status")
        if condition.get("status") not in _STATUSES
    ]


def _set_available(service: Plain, allocate: Allocator) -> None:
    """Mark an APIService of the server itself as available."""
    if part(service, "spec").get("service") is None:
        condition = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": allocate.now(),
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        service["status"] = {"conditions": [condition]}


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_set_available,
        validate_create=service_errors,
        validate_update=lambda new, _old: service_errors(new),
        validate_status=lambda new, _old: status_errors(new),
    ),
)
