"""Checks that the kinds of dynamic resource allocation share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead._schema.errors import EnumText, duplicate, invalid, required, too_long, too_many
from masthead_server.resources import names
from masthead_server.resources.validation.checks import follows, unsupported, words
from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_Item = TypeVar("_Item")

MAX_DRIVER_LENGTH: Final = 63
"""Bytes of a driver's name, which is also the domain of a qualified name."""
MAX_ID_LENGTH: Final = 32
"""Bytes of an attribute's name without its domain."""
_MAX_POOL_LENGTH: Final = 253
_MAX_BINDING_CONDITIONS: Final = 4
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_IDENTIFIER: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NO_IDENTIFIER: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric"
    " characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is"
    " '[A-Za-z_][A-Za-z0-9_]*')"
)
_HEX_PAIR_STARTS: Final = (0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34)
_HEX_PAIR: Final = re.compile("[0-9a-fA-F]{2}")
_NO_OBJECT: Final = "must be a valid JSON object"
OMITTED_VALUE: Final = "<value omitted>"


def list_errors(
    owner: Plain,
    name: str,
    path: str,
    limit: int,
    check: Callable[[_Item, str], Errors],
    key: Callable[[_Item], str] | None = None,
) -> Errors:
    """Validate the length and the items of a list, and that their keys are unique.

    Args:
        owner: The struct with the list.
        name: The field.
        path: The path of the struct.
        limit: The most items; a longer list is not looked at. Negative for no limit.
        check: Validates an item at its path.
        key: The key of an item; None for a list that may repeat items.
    """
    at, found = f"{path}.{name}", cast("list[_Item]", owner.get(name) or [])
    if 0 <= limit < len(found):
        return [too_many(at, len(found), limit)]
    errors = [error for index, item in enumerate(found) for error in check(item, f"{at}[{index}]")]
    if key is None:
        return errors
    seen: set[str] = set()
    for index, item in enumerate(found):
        if key(item) in seen:
            errors.append(duplicate(f"{at}[{index}]", key(item)))
        seen.add(key(item))
    return errors


def name_of(item: Plain) -> str:
    """Return the key of a list of named structs."""
    return text(item, "name")


def itself(item: str) -> str:
    """Return the key of a set of texts."""
    return item


def driver_errors(path: str, driver: str) -> Errors:
    """Validate the name of a driver."""
    if not driver:
        return [required(path)]
    errors = [too_long(path, MAX_DRIVER_LENGTH)] if len(driver.encode()) > MAX_DRIVER_LENGTH else []
    # Capitals are allowed in driver names; the format does not have them.
    return errors + [invalid(path, driver, problem) for problem in names.SUBDOMAIN(driver.lower())]


def pool_errors(path: str, pool: str) -> Errors:
    """Validate the name of a pool: subdomains with slashes between them."""
    if not pool:
        return [required(path)]
    errors = [too_long(path, _MAX_POOL_LENGTH)] if len(pool.encode()) > _MAX_POOL_LENGTH else []
    return errors + [error for segment in pool.split("/") for error in follows(path, segment, names.SUBDOMAIN)]


def short_name_errors(path: str, name: str) -> Errors:
    """Validate the name of a device, a request or a counter."""
    return follows(path, name, names.label)


def qualified_name_errors(path: str, name: str) -> Errors:
    """Validate the name of an attribute or a capacity: an identifier, with a domain or without."""
    match name.split("/"):
        case [identifier]:
            return _identifier_errors(path, identifier)
        case [domain, identifier]:
            errors = driver_errors(path, domain) if domain else [invalid(path, "", "the domain must not be empty")]
            if not identifier:
                return [*errors, invalid(path, "", "the name must not be empty")]
            return errors + _identifier_errors(path, identifier)
        # kube-apiserver accepts names with more than one slash.
        case _:
            return []


def full_name_errors(path: str, name: str) -> Errors:
    """Validate the name of an attribute that must have a domain."""
    errors = qualified_name_errors(path, name)
    if "/" not in name:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, EnumText(name), why))
    return errors


def _identifier_errors(path: str, identifier: str) -> Errors:
    errors = [too_long(path, MAX_ID_LENGTH)] if len(identifier.encode()) > MAX_ID_LENGTH else []
    return errors if _IDENTIFIER.fullmatch(identifier) else [*errors, invalid(path, identifier, _NO_IDENTIFIER)]


def share_id_errors(path: str, share_id: str) -> Errors:
    """Validate the UUID of a share of a device."""
    if problem := _uuid_problem(share_id):
        return [invalid(path, share_id, f"error validating uid: {problem}")]
    if len(share_id) != 36 or share_id != share_id.lower():
        why = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`"
            " with lowercase hexadecimal characters"
        )
        return [invalid(path, share_id, why)]
    return []


def _uuid_problem(uuid: str) -> str:
    """Return why a text is no UUID in any of the forms that Go's library reads; empty if it is one."""
    match len(uuid.encode()):
        case 45:
            if uuid[:9].lower() != "urn:uuid:":
                return f'invalid urn prefix: "{uuid[:9]}"'
            uuid = uuid[9:]
        case 38:
            if not (uuid.startswith("{") and uuid.endswith("}")):
                return "invalid bracketed UUID format"
            uuid = uuid[1:-1]
        case 32:
            return "" if re.fullmatch("[0-9a-fA-F]{32}", uuid) else "invalid UUID format"
        case 36:
            pass
        case length:
            return f"invalid UUID length: {length}"
    hyphens = all(uuid[index : index + 1] == "-" for index in (8, 13, 18, 23))
    pairs = all(_HEX_PAIR.fullmatch(uuid, index, index + 2) for index in _HEX_PAIR_STARTS)
    return "" if hyphens and pairs else "invalid UUID format"


def parameters_errors(path: str, owner: Plain, name: str, limit: int | None) -> Errors:
    """Validate opaque JSON.

    Args:
        path: The path of the field.
        owner: The struct with the field.
        name: The field.
        limit: The most bytes; None if the value is stored already.
    """
    value = owner.get(name)
    if value is None:
        return [required(path)]
    if limit is not None and raw_length(value) > limit:
        return [too_long(path, limit)]
    return [] if isinstance(value, dict) else [invalid(path, OMITTED_VALUE, _NO_OBJECT)]


def raw_length(value: object) -> int:
    """Return the bytes of a value as kube-apiserver holds raw JSON."""
    from masthead._schema.errors import json_text

    return len(json_text(value).encode())


def condition_name_errors(name: str, path: str) -> Errors:
    """Validate the type of a condition as the name of a label."""
    return follows(path, name, names.qualified_name)


def binding_errors(owner: Plain, path: str) -> Errors:
    """Validate the conditions for binding to a device, and for giving up."""
    conditions, failures = words(owner, "bindingConditions"), words(owner, "bindingFailureConditions")
    errors: Errors = []
    for name in ("bindingConditions", "bindingFailureConditions"):
        errors += list_errors(owner, name, path, _MAX_BINDING_CONDITIONS, condition_name_errors)
    for index, condition in enumerate(conditions):
        if condition in conditions[:index]:
            errors.append(duplicate(f"{path}.bindingConditions[{index}]", condition))
    for index, condition in enumerate(failures):
        at = f"{path}.bindingFailureConditions[{index}]"
        if condition in failures[:index]:
            errors.append(duplicate(at, condition))
        if condition in conditions:
            why = "bindingFailureConditions must not overlap with bindingConditions"
            errors.append(invalid(at, condition, why))
    if failures and not conditions:
        why = "bindingConditions are required to use bindingFailureConditions"
        errors.append(invalid(f"{path}.bindingConditions", owner.get("bindingConditions"), why))
    if conditions and not failures:
        why = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(f"{path}.bindingFailureConditions", owner.get("bindingFailureConditions"), why))
    return errors


def taint_errors(path: str, taint: Plain, old: Plain | None = None) -> Errors:
    """Validate a taint; an effect that stays the same is not checked."""
    errors = follows(f"{path}.key", text(taint, "key"), names.qualified_name)
    if text(taint, "value"):
        errors += follows(f"{path}.value", taint["value"], names.LABEL_VALUE)
    effect = text(taint, "effect")
    if old is not None and text(old, "effect") == effect:
        return errors
    if not effect:
        return [*errors, required(f"{path}.effect")]
    return errors + _effect_errors(f"{path}.effect", effect)


def toleration_errors(toleration: Plain, path: str) -> Errors:
    """Validate a toleration."""
    key, value, operator = (text(toleration, field) for field in ("key", "value", "operator"))
    errors = follows(f"{path}.key", key, names.qualified_name) if key else []
    if operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors += follows(f"{path}.value", value, names.LABEL_VALUE)
    elif not operator:
        errors.append(required(f"{path}.operator"))
    else:
        errors.append(unsupported(f"{path}.operator", operator, ("Equal", "Exists")))
    effect = text(toleration, "effect")
    return errors + (_effect_errors(f"{path}.effect", effect) if effect else [])


def _effect_errors(path: str, effect: str) -> Errors:
    return [] if effect in _EFFECTS else [unsupported(path, effect, _EFFECTS)]
