"""Strategic merge patches: applied to an object, or to another patch.

They are merge patches that know the type of the object: lists are merged by the keys of their items if their type has
merge keys. Directives change how a patch is applied:

==============================  ==========================================================================
``$patch: replace``             the object replaces the present one; in a list, the list replaces it
``$patch: delete``              the object becomes empty; in a list, the item with that key is removed
``$deleteFromPrimitiveList/x``  these scalars are removed from the list ``x``
``$setElementOrder/x``          the items of the list ``x`` come in this order
``$retainKeys``                 all other keys of the object are removed
==============================  ==========================================================================

The result, its order and the errors are those of kube-apiserver and kubectl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from masthead._schema.go_format import go_string, go_value
from masthead._schema.merge_errors import (
    BAD_DELETION_LIST,
    BAD_ORDER_LIST,
    BAD_RETAIN_KEYS,
    StrategicMergeError,
    missing_key,
    wrong_type,
)
from masthead._schema.merge_order import (
    PATCH,
    element_type,
    first_positions,
    identity,
    interleave,
    is_equal,
    is_list,
    is_object,
    key_of,
    partition,
    sort_by,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from masthead._meta.plain import Plain
    from masthead._schema.merge_rules import FieldMerge, MergeRules

    Value: TypeAlias = Any

__all__ = ["DELETE_FROM_LIST", "RETAIN_KEYS", "SET_ORDER", "apply_strategic_merge", "combine_patches"]

DELETE_FROM_LIST: Final = "$deleteFromPrimitiveList"
RETAIN_KEYS: Final = "$retainKeys"
SET_ORDER: Final = "$setElementOrder"


def apply_strategic_merge(document: Plain, patch: Plain, rules: MergeRules) -> Plain:
    """Apply a strategic merge patch to an object.

    Args:
        document: The object, as plain data; it is changed, and the result shares its parts.
        patch: The patch; it is changed as well, and the result shares its parts.
        rules: How the fields of the object are merged.

    Raises:
        StrategicMergeError: If the patch does not apply.
    """
    return _Merge(combines=False).objects(document, patch, rules)


def combine_patches(first: Plain, second: Plain, rules: MergeRules) -> Plain:
    """Combine two patches into a single one with the same effect; where they differ, the second one wins.

    Args:
        first: A patch; it is changed.
        second: The patch to be applied after it; it is changed.
        rules: How the fields of the object are merged.

    Raises:
        StrategicMergeError: If they have directives that contradict each other.
    """
    return _Merge(combines=True).objects(first, second, rules)


class _Merge:
    """One merge.

    Args:
        combines: Whether two patches are combined, which preserves directives and nulls.
    """

    def __init__(self, *, combines: bool) -> None:
        self._combines = combines

    def objects(self, original: Plain, patch: Plain, rules: MergeRules) -> Plain:
        """Merge a patch into an object."""
        if PATCH in patch:
            return _follow_directive(patch)
        # Before the fields, since both change the original that these are merged into.
        self._retain_keys(original, patch)
        self._merge_ordered(original, patch, rules)
        for name, value in list(patch.items()):
            if not name.startswith(DELETE_FROM_LIST):
                self._merge_field(original, name, value, rules)
            elif self._combines:
                original[name] = value
            else:
                key = _list_name(name, DELETE_FROM_LIST, BAD_DELETION_LIST)
                self._delete_items(original, key, value, rules)
        return original

    def _merge_field(self, original: Plain, key: str, value: Value, rules: MergeRules) -> None:
        present: Value = original.get(key)
        if value is None:
            original.pop(key, None)
            # In a combined patch the null is a directive that has to survive.
            if self._combines:
                original[key] = None
        # Values of different types cannot be merged: the patch wins.
        elif key not in original or type(present) is not type(value):
            if not self._combines:
                _drop_nulls(value)
            _set(original, key, value)
        elif is_object(value):
            found = rules.field(key)
            # With this strategy, the object replaces the original.
            if found.strategy != "replace":
                value = self.objects(present, value, found.rules)
            original[key] = value
        elif is_list(value):
            found = rules.list_field(key)
            original[key] = self._lists(present, value, found)
        else:
            original[key] = value

    def _delete_items(self, original: Plain, key: str, value: Value, rules: MergeRules) -> None:
        """Remove scalars from a list; no-op if either side is not a list."""
        if value is None:
            original.pop(key, None)
            return
        present: Value = original.get(key)
        if type(present) is not type(value):
            return
        if is_list(value):
            found = rules.list_field(key)
            original[key] = self._merge_lists(present, value, found, is_deletion=True)
        elif is_object(value):
            self._merge_field(original, key, value, rules)
        else:
            original[key] = value

    def _lists(self, original: list[Any], patch: list[Any], field: FieldMerge) -> list[Any]:
        return self._merge_lists(original, patch, field) if field.strategy == "merge" else patch

    def _merge_lists(
        self, original: list[Any], patch: list[Any], field: FieldMerge, *, is_deletion: bool = False
    ) -> list[Any]:
        # `element_type` needs at least one element.
        if not original and not patch:
            return original
        merge_key = field.merge_key
        are_objects = element_type(original, patch) is dict
        if are_objects:
            if not merge_key:
                raise StrategicMergeError(f"cannot merge lists without merge key for {field.rules.kind}")
            order, patch, merged = self._merge_items(original, patch, field)
        else:
            # Combined patches collect deletions like any other list of scalars.
            if is_deletion and not self._combines:
                deleted = {identity(item) for item in patch}
                return [item for item in original if identity(item) not in deleted]
            order = original
            # A set of scalars: duplicates collapse to their first position and last value.
            merged = list({identity(item): item for item in (*original, *patch)}.values())
        of_patch, of_server = partition(merged, patch, merge_key)
        of_patch = sort_by(of_patch, patch, merge_key, are_objects=are_objects)
        of_server = sort_by(of_server, order, merge_key, are_objects=are_objects)
        return interleave(of_server, of_patch, order, merge_key)

    def _merge_items(
        self, original: list[Plain], patch: list[Plain], field: FieldMerge
    ) -> tuple[list[Plain], list[Plain], list[Plain]]:
        """Merge lists of objects; returns the server's order, the patch without directives, and the items.

        Afterwards, the original list has the order that `_merge_ordered` compares with.
        """
        merge_key, length = field.merge_key, len(original)
        kept, stale, plain, replaces = _follow_item_directives(original, patch, merge_key)
        if replaces:
            original[:] = [*kept, *stale]
            return plain, [], plain
        positions = first_positions(kept, merge_key) if plain else {}
        added: dict[Hashable, Plain] = {}
        for item in plain:
            if merge_key not in item:
                raise missing_key(item, merge_key)
            key = key_of(item, merge_key)
            # A patch may name the same key twice: later items are merged into earlier ones.
            if key in positions:
                place = positions[key]
                kept[place] = self.objects(kept[place], item, field.rules)
            elif key in added:
                added[key] = self.objects(added[key], item, field.rules)
            else:
                added[key] = item
        new = list(added.values())
        # Go's slices share their memory: new items overwrite what deleted ones have left behind, and so count
        # as items that the server has had. The order of the result depends on it.
        original[:] = [*kept, *new[: length - len(kept)], *stale[len(new) :]]
        return kept, plain, [*kept, *new]

    def _retain_keys(self, original: Plain, patch: Plain) -> None:
        if RETAIN_KEYS not in patch:
            return
        keys = patch.pop(RETAIN_KEYS)
        if self._combines:
            # Two patches can only be combined if they retain the same keys.
            if not is_equal(original.setdefault(RETAIN_KEYS, keys), keys):
                raise StrategicMergeError(
                    f"{go_value(original[RETAIN_KEYS])} and {go_value(keys)} are not deep equal: "
                    "this may happen when calculating the 3-way diff patch"
                )
            return
        if not is_list(keys):
            raise StrategicMergeError(BAD_RETAIN_KEYS, 400)
        retained = {identity(key) for key in keys}
        for key, value in patch.items():
            is_list_directive = key.startswith((DELETE_FROM_LIST, SET_ORDER))
            # Setting a field that is to be removed contradicts itself.
            if value is not None and not is_list_directive and identity(key) not in retained:
                raise StrategicMergeError(BAD_RETAIN_KEYS, 400)
        for key in [item for item in original if identity(item) not in retained]:
            del original[key]

    def _merge_ordered(self, original: Plain, patch: Plain, rules: MergeRules) -> None:
        """Merge the lists for which the patch has an order, and take them from the patch."""
        # A copy of the names, because each is removed from the patch.
        for name in [item for item in patch if item.startswith(SET_ORDER)]:
            order = patch.pop(name)
            if self._combines and not is_equal(original.setdefault(name, order), order):
                raise StrategicMergeError(BAD_ORDER_LIST, 400)
            if not is_list(order):
                raise wrong_type(list, order)
            key = _list_name(name, SET_ORDER, BAD_ORDER_LIST)
            self._merge_one_ordered(original, patch, key, order, rules)

    def _merge_one_ordered(self, original: Plain, patch: Plain, key: str, order: list[Any], rules: MergeRules) -> None:
        present, change = original.get(key, []), patch.get(key, [])
        for side in (present, change):
            if not is_list(side):
                raise wrong_type(list, side)
        field = rules.list_field(key)
        merge_key = field.merge_key
        _check_order(change, order, merge_key)
        if key in original and key in patch:
            merged = self._lists(present, change, field)
        elif key in original:
            merged = present
        elif key in patch:
            merged = _without_directives(change)
        else:
            return
        of_patch, of_server = partition(merged, order, merge_key)
        are_objects = element_type(present, change) is dict
        of_patch = sort_by(of_patch, order, merge_key, are_objects=are_objects)
        of_server = sort_by(of_server, present, merge_key, are_objects=are_objects)
        original[key] = interleave(of_server, of_patch, present, merge_key)
        # Done here, so that the merge of the remaining fields does not see the list again.
        patch.pop(key, None)


def _follow_directive(patch: Plain) -> Plain:
    directive = patch[PATCH]
    if directive == "replace":
        del patch[PATCH]
        return patch
    if directive == "delete":
        return {}
    raise _unknown_directive(patch)


def _unknown_directive(patch: Plain) -> StrategicMergeError:
    return StrategicMergeError(f"unknown patch type: {go_string(patch[PATCH])} in map: {go_value(patch)}")


def _follow_item_directives(
    original: list[Plain], patch: list[Plain], merge_key: str
) -> tuple[list[Plain], list[Plain], list[Plain], bool]:
    """Delete items, and find out whether the list is replaced.

    Returns:
        The remaining items; the leftovers behind them in Go's memory; the items of the patch without
        directives; whether these replace the list.
    """
    plain: list[Plain] = []
    deleted: list[Hashable] = []
    replaces = False
    for item in patch:
        if PATCH not in item:
            plain.append(item)
        elif item[PATCH] == "delete":
            if merge_key not in item:
                raise missing_key(item, merge_key)
            deleted.append(key_of(item, merge_key))
        elif item[PATCH] == "replace":
            replaces = True
        elif item[PATCH] == "merge":
            raise StrategicMergeError("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if not deleted:
        return list(original), [], plain, replaces
    return *_without_deleted(original, deleted, merge_key), plain, replaces


def _without_deleted(original: list[Plain], deleted: list[Hashable], merge_key: str) -> tuple[list[Plain], list[Plain]]:
    """Return the items that are left, and what Go leaves behind them when it moves items to the front."""
    places: dict[Hashable, list[int]] = {}
    for index, item in enumerate(original):
        if merge_key in item:
            places.setdefault(key_of(item, merge_key), []).append(index)
    is_deleted = bytearray(len(original))
    stale: list[Plain] = []
    last = len(original) - 1
    for key in deleted:
        for index in places.pop(key, ()):
            # Go moves the last item into the hole, which leaves a copy of it behind the end of the slice.
            while is_deleted[last]:
                last -= 1
            stale.append(original[last])
            is_deleted[index] = True
    kept = [item for item, gone in zip(original, is_deleted, strict=True) if not gone]
    return kept, stale[::-1]


def _list_name(name: str, prefix: str, problem: str) -> str:
    """Return the list that a directive is about; itself if it names none.

    Raises:
        StrategicMergeError: If it is another directive.
    """
    directive, slash, key = name.partition("/")
    if not slash or directive != prefix:
        raise StrategicMergeError(problem, 400)
    return key


def _check_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """Check that the items of a patch stand in the given order.

    Raises:
        StrategicMergeError: If they do not, or cannot be compared.
    """
    if not order or not patch:
        return
    items = patch
    if merge_key:
        for item in patch:
            if not is_object(item):
                raise wrong_type(dict, item)
        # Deleted items need no position in the order.
        items = [item for item in patch if item.get(PATCH) != "delete"]
    done = place = 0
    while done < len(items) and place < len(order):
        if _is_directive(items[done]):
            done += 1
            continue
        done += _is_same_item(items[done], order[place], merge_key)
        place += 1
    # Some item of the patch is not in the order list, or in another sequence.
    if done < len(items):
        raise StrategicMergeError(
            f"The order in patch list:\n{go_value(patch)}\n doesn't match {SET_ORDER} list:\n{go_value(order)}\n"
        )


def _is_same_item(item: Value, other: Value, merge_key: str) -> bool:
    if not merge_key:
        return type(item) is type(other) and identity(item) == identity(other)
    for entry in (item, other):
        if not is_object(entry):
            raise wrong_type(dict, entry)
        if merge_key not in entry:
            raise missing_key(entry, merge_key)
    mine, others = item[merge_key], other[merge_key]
    return type(mine) is type(others) and identity(mine) == identity(others)


def _set(target: Plain, key: str, value: object) -> None:
    """Set a field to a value of a patch; a directive removes the field."""
    if is_object(value) and PATCH in value:
        target.pop(key, None)
    else:
        target[key] = _without_directives(value)


def _without_directives(value: Value) -> Value:
    """Remove objects that are directives, at any depth; objects are changed, lists are not."""
    if is_object(value):
        found = value
        for key, inner in list(found.items()):
            _set(found, key, inner)
        return found
    if is_list(value):
        return [_without_directives(item) for item in value if not _is_directive(item)]
    return value


def _is_directive(value: object) -> bool:
    return is_object(value) and PATCH in value


def _drop_nulls(value: object) -> None:
    """Remove null fields of objects at any depth; lists keep theirs."""
    if is_object(value):
        found = value
        for key in [key for key, inner in found.items() if inner is None]:
            del found[key]
        for inner in found.values():
            _drop_nulls(inner)
    elif is_list(value):
        for item in value:
            _drop_nulls(item)
