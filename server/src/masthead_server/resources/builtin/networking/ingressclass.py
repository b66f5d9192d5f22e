"""IngressClasses: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.validation.checks import domain_path_errors, follows, given, immutable, known_or_nothing
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(inside={"spec": shape(inside={"parameters": shape(unset={"scope": "Cluster"})})})


def class_errors(found: Plain) -> Errors:
    """Return the errors of an IngressClass."""
    spec = part(found, "spec")
    errors = domain_path_errors("spec.controller", text(spec, "controller"))
    if spec.get("parameters") is None:
        return errors
    parameters, path = part(spec, "parameters"), "spec.parameters"
    if parameters.get("apiGroup") is not None:
        errors += follows(f"{path}.apiGroup", parameters["apiGroup"], names.SUBDOMAIN)
    for field in ("kind", "name"):
        errors += given(f"{path}.{field}", parameters.get(field), names.path_segment)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    errors += known_or_nothing(f"{path}.scope", scope, ("Cluster", "Namespace"))
    if scope == "Namespace" and namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    if scope == "Namespace" and namespace is not None:
        errors += [invalid(f"{path}.namespace", namespace, problem) for problem in names.LABEL(namespace)]
    if scope == "Cluster" and namespace is not None:
        errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return errors


def class_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of an IngressClass."""
    controllers = [text(part(state, "spec"), "controller") for state in (new, old)]
    return immutable("spec.controller", *controllers) + class_errors(new)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS, hooks=StrategyHooks(validate_create=class_errors, validate_update=class_changes)
)
