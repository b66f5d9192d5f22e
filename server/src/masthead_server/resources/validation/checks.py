"""Building blocks of validation.

Every check takes the path and the value of a field, and returns the errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._meta.quantity import Quantity
from masthead._meta.quoting import quoted
from masthead._schema.errors import (
    EnumText,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
)
from masthead_server.resources import names
from masthead_server.wire.plain import Plain, part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors

Rule: TypeAlias = Callable[[str], list[str]]
"""Returns the problems of a text."""

IMMUTABLE: Final = "field is immutable"
NEGATIVE: Final = "must be greater than or equal to 0"
MAX_INT32: Final = 2**31 - 1
"""The largest number of 32 bits."""
MAX_ANNOTATIONS_SIZE: Final = 256 * 1024
"""Bytes of all keys and values of annotations."""
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
"""When an image is pulled."""


_MAX_REMEMBERED: Final = 512
"""Characters of labels whose validity is remembered."""


def follows(path: str, value: object, rule: Rule) -> Errors:
    """Validate a text against a rule for its form."""
    text = value if isinstance(value, str) else str(value or "")
    if (rule is names.LABEL_VALUE or rule is names.config_key) and names.is_plain(text):
        return []
    if (rule is names.label or rule is names.SUBDOMAIN) and names.is_plain_label(text):
        return []
    # Only results for short strings are cached, so that clients cannot fill the memory with long ones.
    problems = _problems(rule, text) if len(text) <= names.MAX_CACHED_LENGTH else rule(text)
    return [invalid(path, value, problem) for problem in problems] if problems else []


@lru_cache(maxsize=16_384)
def _problems(rule: Rule, value: str) -> tuple[str, ...]:
    """Ask a rule; names come again and again, in every object of a workload."""
    return tuple(rule(value))


def given(path: str, value: object, rule: Rule) -> Errors:
    """Validate a text that must be there against a rule for its form."""
    return follows(path, value, rule) if value else [required(path)]


def one_of(path: str, value: object, known: Collection[str]) -> Errors:
    """Validate that a text is one of some; messages list them in this order."""
    if value in known:
        return []
    return known_or_nothing(path, value, known) if value else [required(path)]


def known_or_nothing(path: str, value: object, known: Iterable[str]) -> Errors:
    """Validate that an optional text is one of some; an empty text is present."""
    choices = tuple(known)
    return [] if value is None or value in choices else [unsupported(path, value, choices)]


def choice_errors(path: str, owner: Plain, choices: Mapping[str, tuple[str, ...]]) -> Errors:
    """Validate that some fields, if they are there, have one of the values that each may have."""
    errors: Errors = []
    for field, known in choices.items():
        if owner.get(field, known[0]) not in known:
            errors.append(unsupported(f"{path}.{field}", owner[field], known))
    return errors


def unsupported(path: str, value: object, known: Iterable[str]) -> FieldError:
    """Return the error about a value that is not among the supported ones."""
    if isinstance(value, str):
        value = EnumText(value)
    listed = ", ".join(quoted(choice) for choice in known)
    return FieldError("FieldValueNotSupported", path, value, f"supported values: {listed}")


def not_found(path: str, value: object, detail: str = "") -> FieldError:
    """Return the error about a name that names nothing."""
    return FieldError("FieldValueNotFound", path, value, detail)


def not_negative(path: str, value: object) -> Errors:
    """Validate an optional count."""
    return [invalid(path, value, NEGATIVE)] if isinstance(value, int) and value < 0 else []


def between(path: str, value: object, least: int, most: int) -> Errors:
    """Validate the bounds of an optional number."""
    if value is None or (isinstance(value, int) and least <= value <= most):
        return []
    return [invalid(path, value, f"must be between {least} and {most}, inclusive")]


def immutable(path: str, new: object, old: object) -> Errors:
    """Validate that a value has not changed; empty equals absent."""
    return [] if same(new, old) else [invalid(path, new, IMMUTABLE)]


def same(new: object, old: object) -> bool:
    """Tell whether two values mean the same: Go cannot tell an empty list or map from none.

    An empty text is one: where it means none, the decoder has dropped it.
    """
    return new == old or (new in _EMPTY and old in _EMPTY) or _prune_empty(new) == _prune_empty(old)


def same_structs(new: object, old: object) -> bool:
    """Tell whether two values mean the same, where empty objects are structs, which Go distinguishes from nil."""
    return new == old or _prune_empty(new, _NO_STRUCTS) == _prune_empty(old, _NO_STRUCTS)


_EMPTY: Final[tuple[object, ...]] = (None, {}, [])
_NO_STRUCTS: Final[tuple[object, ...]] = (None, [])


def _prune_empty(value: object, empty: tuple[object, ...] = _EMPTY) -> object:
    if isinstance(value, dict):
        found = {key: _prune_empty(inner_value, empty) for key, inner_value in cast("dict[str, object]", value).items()}
        return {key: nested for key, nested in found.items() if nested not in empty}
    if isinstance(value, list):
        return [_prune_empty(item, empty) for item in cast("list[object]", value)]
    return value


def shown_map(found: Plain | None) -> Plain | None:
    """Show a map as a message does: by the order of its keys."""
    return dict(sorted(found.items())) if found is not None else None


def each_of(owner: Plain, name: str, path: str) -> Iterable[tuple[str, Plain]]:
    """Return the structs of a list together with their paths."""
    found = owner.get(name)
    if not found:  # most lists of most objects are not there, and no path is made for them
        return ()
    return [(f"{path}.{name}[{index}]", item) for index, item in enumerate(cast("list[Plain]", found))]


def words(owner: Plain, name: str) -> list[str]:
    """Return a list of texts; an empty one if the field is unset."""
    return list(cast("list[str]", owner.get(name) or ()))


def texts_of(owner: Plain, name: str, path: str) -> Iterator[tuple[str, str]]:
    """Return the texts of a list together with their paths."""
    for index, item in enumerate(words(owner, name)):
        yield f"{path}.{name}[{index}]", item


def unique(path: str, value: str, seen: set[str]) -> Errors:
    """Validate that a value comes for the first time."""
    if value in seen:
        return [duplicate(path, value)]
    seen.add(value)
    return []


_PATH: Final = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"


def domain_path_errors(path: str, value: str) -> Errors:
    """Validate a path that begins with a domain, such as ``example.com/controller``."""
    if not value:
        return [required(path)]
    domain, _, rest = value.partition("/")
    if not domain or not rest:
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = follows(path, domain, names.SUBDOMAIN)
    if not re.fullmatch(_PATH, rest):
        # The value in this message is the path alone, without the domain.
        errors.append(invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')"))
    return errors


def port(path: str, value: object) -> Errors:
    """Validate the number of a port."""
    return between(path, 0 if value is None else value, 1, 65535)


def port_or_name(path: str, value: object) -> Errors:
    """Validate a port that may be given by its name."""
    return follows(path, value, port_name) if isinstance(value, str) else port(path, value)


def port_name(value: str) -> list[str]:
    """Return what keeps a text from being the name of a port."""
    found: list[str] = []
    if len(value) > 15:
        found.append("must be no more than 15 characters")
    if not re.fullmatch("[-a-z0-9]+", value):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def labels(path: str, found: Plain) -> Errors:
    """Validate the keys and the values of labels."""
    # A workload has the same labels in its selector and its template, and in every one of its objects.
    if not found:
        return []
    # Long ones are not remembered, so that clients cannot fill the memory with them.
    if sum(map(len, found)) + sum(map(len, found.values())) <= _MAX_REMEMBERED and _are_plain_labels(
        tuple(found.items())
    ):
        return []
    errors: Errors = []
    for key, value in found.items():
        errors += follows(path, key, names.qualified_name)
        errors += follows(path, value, names.LABEL_VALUE)
    return errors


@lru_cache(maxsize=4_096)
def _are_plain_labels(pairs: tuple[tuple[str, str], ...]) -> bool:
    """Tell at a glance that labels are valid, as nearly all are."""
    return all(names.is_plain(key) and names.is_plain(value) for key, value in pairs)


def annotation_errors(path: str, annotations: Mapping[str, str]) -> Errors:
    """Validate the keys of annotations, and the size of all."""
    errors: Errors = []
    for key in annotations:
        # The key of an annotation may have capitals in its prefix.
        errors += [invalid(path, key, problem) for problem in names.qualified_name(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS_SIZE:
        errors.append(too_long(path, MAX_ANNOTATIONS_SIZE))
    return errors


def label_selector(path: str, selector: Plain) -> Errors:
    """Validate a selector of labels."""
    errors = labels(f"{path}.matchLabels", part(selector, "matchLabels"))
    for at, requirement in each_of(selector, "matchExpressions", path):
        errors += _requirement(at, requirement)
    return errors


def _requirement(path: str, requirement: Plain) -> Errors:
    errors = operands(path, requirement)
    if requirement.get("operator") not in {"In", "NotIn", "Exists", "DoesNotExist"}:
        operator = EnumText(requirement.get("operator") or "")
        errors = [invalid(f"{path}.operator", operator, "not a valid selector operator")]
    errors += follows(f"{path}.key", requirement.get("key", ""), names.qualified_name)
    for at, value in texts_of(requirement, "values", path):
        errors += follows(at, value, names.LABEL_VALUE)
    return errors


def operands(path: str, requirement: Plain) -> Errors:
    """Validate that a requirement has values if its operator needs some, and none if not."""
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in {"In", "NotIn"} and not values:
        return [required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in {"Exists", "DoesNotExist"} and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden(f"{path}.values", why)]
    return []


def amount(value: object) -> Quantity:
    """Read an amount; none is zero."""
    if value is None:
        return _NONE
    written = cast("str", value)
    return _quantity(written) if len(written) <= names.MAX_CACHED_LENGTH else Quantity(written)


_NONE: Final = Quantity(0)
_quantity: Final = lru_cache(maxsize=4096)(Quantity)
"""The same few amounts stand in every container."""


def not_negative_amount(path: str, value: object) -> Errors:
    """Validate that an amount is not below zero."""
    quantity = amount(value)
    return [invalid(path, str(quantity), NEGATIVE)] if quantity.sign < 0 else []


def whole_or_percent(path: str, value: object) -> Errors:
    """Validate a count that may be given as a share."""
    if isinstance(value, str):
        if re.fullmatch("[0-9]+%", value):
            return []
        why = (
            "a valid percent string must be a numeric string followed by an ending '%' "
            "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        )
        return [invalid(path, EnumText(value), why)]
    return not_negative(path, value)


def up_to_all(path: str, value: object) -> Errors:
    """Validate that a share is not more than everything."""
    if (
        isinstance(value, str)
        and re.fullmatch("[0-9]+%", value)
        and len(value[:-1].lstrip("0")) > 2
        and value.lstrip("0") != "100%"
    ):
        return [invalid(path, value, "must not be greater than 100%")]
    return []
