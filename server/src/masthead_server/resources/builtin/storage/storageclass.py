"""StorageClasses: defaults, validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.validation.checks import each_of, follows, immutable, known_or_nothing, unique, words
from masthead_server.resources.warnings.node_labels import DEPRECATED
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(unset={"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})


def driver_errors(field: str, found: Plain) -> Errors:
    """Return the errors of the name of a driver."""
    driver = text(found, field)
    return follows(field, driver.lower(), names.qualified_name) if driver else [required(field)]


def class_errors(found: Plain) -> Errors:
    """Return the errors of a StorageClass."""
    errors = driver_errors("provisioner", found)
    if "" in part(found, "parameters"):
        errors.append(invalid("parameters", "", "field can not be empty."))
    # Deleting or keeping is what a provisioner can do; recycling is not.
    errors += known_or_nothing("reclaimPolicy", found.get("reclaimPolicy") or None, ("Delete", "Retain"))
    modes = ("Immediate", "WaitForFirstConsumer")
    errors += known_or_nothing("volumeBindingMode", found.get("volumeBindingMode"), modes)
    return errors + _topology_errors(found)


def _topology_errors(found: Plain) -> Errors:
    errors: Errors = []
    # kube-apiserver compares with as many empty terms, too, so that an empty one is always a duplicate.
    terms: list[dict[str, set[str]]] = [{} for _ in items(found, "allowedTopologies")]
    for index, term in enumerate(items(found, "allowedTopologies")):
        path = f"allowedTopologies[{index}]"
        allowed: dict[str, set[str]] = {}
        for at, requirement in each_of(term, "matchLabelExpressions", path):
            key, values = text(requirement, "key"), words(requirement, "values")
            errors += [] if values else [required(f"{at}.values")]
            seen: set[str] = set()
            for number, value in enumerate(values):
                errors += unique(f"{at}.values[{number}]", value, seen)
            errors += follows(f"{at}.key", key, names.qualified_name)
            errors += [duplicate(f"{at}.key", key)] if key in allowed else []
            allowed[key] = seen
        errors += [duplicate(f"{path}.matchLabelExpressions", "") for known_term in terms if known_term == allowed]
        terms.append(allowed)
    return errors


def class_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a StorageClass."""
    errors = class_errors(new) + immutable("parameters", new.get("parameters"), old.get("parameters"))
    errors += immutable("provisioner", text(new, "provisioner"), text(old, "provisioner"))
    for field in ("reclaimPolicy", "volumeBindingMode"):
        errors += immutable(field, new.get(field), old.get(field))
    return errors


def storage_class_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a StorageClass."""
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {DEPRECATED[match_label_expression['key']]}"
        for index, topology in enumerate(items(obj, "allowedTopologies"))
        for number, match_label_expression in enumerate(items(topology, "matchLabelExpressions"))
        if match_label_expression.get("key") in DEPRECATED
    ]


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=class_errors, validate_update=class_changes),
    warnings=always(storage_class_warnings),
)
