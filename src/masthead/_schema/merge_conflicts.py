"""Whether two patches contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from masthead._schema.go_format import go_string, go_value
from masthead._schema.merge_errors import StrategicMergeError
from masthead._schema.merge_order import PATCH, element_type, identity, is_equal, is_list, is_object
from masthead._schema.strategic_merge import RETAIN_KEYS

if TYPE_CHECKING:
    from masthead._meta.plain import Plain
    from masthead._schema.merge_rules import FieldMerge, MergeRules


__all__ = ["has_conflicts", "have_different_values"]


def has_conflicts(left: Plain, right: Plain, rules: MergeRules) -> bool:
    """Whether two strategic merge patches change the same fields in different ways.

    Raises:
        StrategicMergeError: If items of their lists cannot be compared.
    """
    return _fields_conflict(left, right, rules, None)


def have_different_values(left: object, right: object) -> bool:
    """Whether two merge patches have different values for the same field."""
    if is_object(left):
        return not is_object(right) or any(
            key in right and have_different_values(value, right[key]) for key, value in left.items()
        )
    if is_list(left):
        return not is_list(right) or len(left) != len(right) or any(map(have_different_values, left, right))
    return not is_equal(left, right)


def _fields_conflict(left: object, right: object, rules: MergeRules, field: FieldMerge | None) -> bool:
    if is_object(left):
        if not is_object(right):
            return True
        # A directive is about the whole object, so that both must have the same.
        if (PATCH in left) != (PATCH in right) or left.get(PATCH) != right.get(PATCH):
            return True
        # Both replace the object as a whole, which is no conflict to kubectl.
        if field is not None and field.strategy == "replace":
            return False
        return _objects_conflict(left, right, rules)
    if is_list(left):
        return not is_list(right) or _lists_conflict(left, right, rules, field)
    return not is_equal(left, right)


def _objects_conflict(left: Plain, right: Plain, rules: MergeRules) -> bool:
    for key, value in left.items():
        # Only fields that both change can conflict.
        if key in {PATCH, RETAIN_KEYS} or key not in right:
            continue
        field: FieldMerge | None = None
        if is_list(value):
            field = rules.list_field(key)
        elif is_object(value):
            field = rules.field(key)
        if _fields_conflict(value, right[key], field.rules if field else rules, field):
            return True
    return False


def _lists_conflict(left: list[Any], right: list[Any], rules: MergeRules, field: FieldMerge | None) -> bool:
    kind = element_type(left, right)
    if field is not None and field.strategy == "merge":
        # Scalars are united, which cannot fail.
        if kind is not dict:
            return False
        mine, others = _by_key(left, field.merge_key), _by_key(right, field.merge_key)
        return any(key in others and _fields_conflict(value, others[key], rules, None) for key, value in mine.items())
    # Lists that are replaced must be equal.
    if len(left) != len(right):
        return True
    if kind is not dict:
        left, right = _sort_items(left), _sort_items(right)
    return any(_fields_conflict(one, other, rules, None) for one, other in zip(left, right, strict=False))


def _sort_items(items: list[Any]) -> list[Any]:
    return sorted({identity(item): item for item in items}.values(), key=go_value)


def _by_key(items: list[Any], merge_key: str) -> Plain:
    found: Plain = {}
    for item in items:
        if merge_key not in item:
            raise StrategicMergeError(f"cannot find merge key `{merge_key}` in merging list element:{go_value(item)}")
        found[go_string(item[merge_key])] = item
    return found
