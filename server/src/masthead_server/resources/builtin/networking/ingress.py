"""Ingresses: validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior, WarningHooks
from masthead_server.resources.validation.addresses import is_ip
from masthead_server.resources.validation.checks import each_of, follows, given, port, port_name, texts_of, unsupported
from masthead_server.resources.validation.load_balancer_status import ingress_status_errors
from masthead_server.resources.warnings.addresses import load_balancer_status_warnings
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_ABSOLUTE: Final = "must be an absolute path"
_WILDCARD: Final = names.Format(
    rf"\*\.{names.SUBDOMAIN.pattern}",
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist"
    " of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    ("*.example.com",),
    limit=253,
    unit="characters",
)
CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"


def _host_errors(path: str, host: str) -> Errors:
    # A wildcard is valid as the first label only, which its format enforces.
    return follows(path, host, _WILDCARD if "*" in host else names.SUBDOMAIN)


def _backend_errors(backend: Plain, path: str) -> Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        at = f"{path}.resource"
        group = resource.get("apiGroup")
        errors = [] if group is None else follows(f"{at}.apiGroup", group, names.SUBDOMAIN)
        fields = ("kind", "name")
        return errors + [e for field in fields for e in given(f"{at}.{field}", resource.get(field), names.path_segment)]
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    errors = given(f"{path}.service.name", service.get("name"), names.label)
    at, which = f"{path}.service.port", part(service, "port")
    if which.get("name") and which.get("number"):
        # These two errors are about the backend as a whole in kube-apiserver, not about its port.
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif which.get("name"):
        errors += follows(f"{at}.name", which["name"], port_name)
    elif which.get("number"):
        errors += port(f"{at}.number", which["number"])
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _path_errors(http_path: Plain, path: str) -> Errors:
    kind, where, at = http_path.get("pathType"), text(http_path, "path"), f"{path}.path"
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: Errors = []
    if kind in {"Exact", "Prefix"}:
        if not where.startswith("/"):
            errors.append(invalid(at, where, _ABSOLUTE))
        # Proxies normalize such paths differently, which could bypass a rule.
        bad = [some for some in ("//", "/./", "/../", "%2f", "%2F") if some in where]
        errors += [invalid(at, where, f"must not contain '{some}'") for some in bad]
        ends = [some for some in ("/..", "/.") if where.endswith(some)]
        errors += [invalid(at, where, f"cannot end with '{some}'") for some in ends]
    elif kind != "ImplementationSpecific":
        known = ("Exact", "ImplementationSpecific", "Prefix")
        errors.append(unsupported(f"{path}.pathType", kind, known))
    elif where and not where.startswith("/"):
        errors.append(invalid(at, where, _ABSOLUTE))
    return errors + _backend_errors(part(http_path, "backend"), f"{path}.backend")


def ingress_errors(ingress: Plain) -> Errors:
    """Return the errors of an Ingress."""
    spec = part(ingress, "spec")
    errors: Errors = []
    # Without both, no request could reach a backend.
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        why = "either `defaultBackend` or `rules` must be specified"
        errors.append(invalid("spec", spec.get("rules"), why))
    if spec.get("defaultBackend") is not None:
        errors += _backend_errors(part(spec, "defaultBackend"), "spec.defaultBackend")
    for at, rule in each_of(spec, "rules", "spec"):
        errors += _rule_errors(rule, at)
    for at, tls in each_of(spec, "tls", "spec"):
        for where, host in texts_of(tls, "hosts", at):
            errors += _host_errors(where, host)
        if tls.get("secretName"):
            errors += follows(f"{at}.secretName", tls["secretName"], names.SUBDOMAIN)
    if spec.get("ingressClassName") is not None:
        errors += follows("spec.ingressClassName", spec["ingressClassName"], names.SUBDOMAIN)
    return errors


def _rule_errors(rule: Plain, path: str) -> Errors:
    host = text(rule, "host")
    errors: Errors = []
    if host:
        # Hosts are compared with the Host header of requests; a certificate rarely names an address.
        # Both errors may come: an IPv4 address is a valid subdomain, an IPv6 address is not.
        if is_ip(host):
            errors.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        errors += _host_errors(f"{path}.host", host)
    if rule.get("http") is not None:
        if not part(rule, "http").get("paths"):
            errors.append(required(f"{path}.http.paths"))
        for at, http_path in each_of(part(rule, "http"), "paths", f"{path}.http"):
            errors += _path_errors(http_path, at)
    return errors


def new_ingress_errors(ingress: Plain) -> Errors:
    """Return the errors of a new Ingress."""
    errors = ingress_errors(ingress)
    annotated = part(metadata(ingress), "annotations").get(CLASS_ANNOTATION)
    name = part(ingress, "spec").get("ingressClassName")
    # The annotation is the older way to choose a class, and both may be set during a migration.
    if annotated is not None and name is not None and annotated != name:
        why = "must match `ingressClassName` when both are specified"
        errors.append(invalid(f"annotations.{CLASS_ANNOTATION}", annotated, why))
    return errors


_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"


def ingress_warnings(obj: Plain) -> list[str]:
    """Return the warnings about an Ingress."""
    annotations = part(part(obj, "metadata"), "annotations")
    # Migrating clients set both, and need no advice.
    if _INGRESS_CLASS not in annotations or part(obj, "spec").get("ingressClassName") is not None:
        return []
    return [f"annotation {quoted(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"]


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        validate_create=new_ingress_errors,
        # As in kube-apiserver, the annotation is compared on creation only: stored ingresses stay writable.
        validate_update=lambda new, _old: ingress_errors(new),
        validate_status=ingress_status_errors,
    ),
    warnings=WarningHooks(ingress_warnings),
    subresources={"status": SubresourceBehavior(warnings=WarningHooks(on_update=load_balancer_status_warnings))},
)
