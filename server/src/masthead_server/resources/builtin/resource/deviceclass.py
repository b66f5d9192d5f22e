"""DeviceClasses: validation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.resource.checks import list_errors
from masthead_server.resources.builtin.resource.claim_validation import MAX_CONFIG, check_expressions, config_errors
from masthead_server.resources.builtin.resource.selectors import selector_list_errors
from masthead_server.resources.validation.checks import same_structs
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def class_errors(device_class: Plain, old: Plain | None = None) -> Errors:
    """Return the errors of a DeviceClass."""
    spec = part(device_class, "spec")
    is_stored = old is not None and same_structs(spec.get("config"), part(old, "spec").get("config"))
    return check_expressions(spec, lambda: _spec_errors(spec, is_stored=is_stored))


def _spec_errors(spec: Plain, *, is_stored: bool) -> Errors:
    errors = selector_list_errors(spec, "spec")
    errors += list_errors(spec, "config", "spec", MAX_CONFIG, partial(config_errors, is_stored=is_stored))
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource(name):
        errors.append(invalid("spec.extendedResourceName", name, "must be a valid extended resource name"))
    return errors


def is_extended_resource(name: str) -> bool:
    """Tell whether a name is one of an extended resource: with a domain that is not Kubernetes' own."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    # A quota has the name with a prefix, which must fit, too.
    return not names.qualified_name(f"requests.{name}")


BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=class_errors, validate_update=class_errors))
