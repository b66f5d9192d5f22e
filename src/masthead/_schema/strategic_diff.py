"""Computes strategic merge patches between states of an object, as kubectl does.

A two-way patch turns one object into another. A three-way patch has three states: the configuration that was applied
last, the configuration to apply, and the current object. It sets the fields of the new configuration, deletes the
fields that only the last one had, and leaves the fields of others alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import msgspec

from masthead._schema.go_format import go_value
from masthead._schema.merge_conflicts import has_conflicts
from masthead._schema.merge_errors import MergeConflictError, StrategicMergeError, missing_key, wrong_type
from masthead._schema.merge_order import (
    PATCH,
    element_type,
    identity,
    is_equal,
    is_list,
    is_object,
    sort_by,
)
from masthead._schema.strategic_merge import DELETE_FROM_LIST, RETAIN_KEYS, SET_ORDER, combine_patches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.plain import Plain
    from masthead._schema.merge_rules import FieldMerge, MergeRules


__all__ = ["three_way_patch", "two_way_patch"]


def two_way_patch(original: Mapping[str, Any], modified: Mapping[str, Any], rules: MergeRules) -> Plain:
    """Compute the strategic merge patch from one state of an object to another; neither is changed.

    Raises:
        StrategicMergeError: If an item of a list has no merge key, or if items of a list have different types.
    """
    return _Diff().objects(_copy(original), _copy(modified), rules)


def three_way_patch(
    original: Mapping[str, Any],
    modified: Mapping[str, Any],
    current: Mapping[str, Any],
    rules: MergeRules,
    *,
    overwrite: bool = True,
) -> Plain:
    """Compute the strategic merge patch that applies a configuration; none of the states is changed.

    Args:
        original: The configuration that was applied last; empty if it was never applied.
        modified: The configuration to apply.
        current: The object on the server.
        rules: How the fields of the object are merged.
        overwrite: Whether to overwrite concurrent changes of others.

    Raises:
        MergeConflictError: If a concurrent change differs, and may not be overwritten.
        StrategicMergeError: If an item of a list has no merge key, or if items of a list have different types.
    """
    # Each takes a copy: scalars are sorted in place, as kubectl does, which later steps depend on.
    applied, wanted, found = _copy(original), _copy(modified), _copy(current)
    # Additions and changes come from the current object, deletions from the last applied one.
    delta = _Diff(ignores_deletions=True).objects(found, wanted, rules)
    deletions = _Diff(ignores_additions=True).objects(applied, wanted, rules)
    patch = combine_patches(deletions, _copy(delta), rules)
    if not overwrite:
        # Changes of others since the last apply.
        changed = _Diff(sets_order=False).objects(applied, found, rules)
        if has_conflicts(patch, changed, rules):
            raise MergeConflictError(patch, changed)
    return patch


def _copy(value: Mapping[str, Any]) -> Plain:
    """Copy plain data deeply; the parts of a patch must not be parts of an object, too."""
    return cast("Plain", msgspec.json.decode(msgspec.json.encode(value)))


@dataclass(frozen=True, slots=True)
class _Diff:
    """What a difference contains.

    Attributes:
        ignores_additions: Whether only deletions count.
        ignores_deletions: Whether only additions and changes count.
        sets_order: Whether the order of lists counts.
        retains_keys: Whether patches of the object list the keys to keep.
    """

    ignores_additions: bool = False
    ignores_deletions: bool = False
    sets_order: bool = True
    retains_keys: bool = False

    def objects(self, original: Plain, modified: Plain, rules: MergeRules) -> Plain:
        """Compute the difference of two objects."""
        patch: Plain = {}
        for key, value in modified.items():
            # A value of another type replaces the old one, so it is an addition.
            if key not in original or type(original[key]) is not type(value):
                if not self.ignores_additions:
                    patch[key] = value
            elif key == PATCH:
                self._diff_directive(original[key], value, patch)
            elif is_object(value):
                self._diff_object(key, original[key], value, patch, rules)
            elif is_list(value):
                self._diff_list(key, original[key], value, patch, rules)
            else:
                self._replace(key, original[key], value, patch)
        if not self.ignores_deletions:
            # Null deletes a field in a merge patch.
            patch |= {key: None for key in original if key not in modified}
        if self.retains_keys:
            keys = sorted(key for key, value in modified.items() if value is not None)
            # The directive is needed only if something is removed or the object changes anyway.
            is_shrunk = any(value is not None and key not in modified for key, value in original.items())
            if keys and (patch or is_shrunk):
                patch[RETAIN_KEYS] = keys
        return patch

    def _diff_directive(self, original: object, modified: object, patch: Plain) -> None:
        if not isinstance(original, str):
            raise StrategicMergeError(f"invalid value for special key: {PATCH}")
        if original != modified:
            patch[PATCH] = modified

    def _diff_object(self, key: str, original: Plain, modified: Plain, patch: Plain, rules: MergeRules) -> None:
        try:
            field = rules.field(key)
        except StrategicMergeError:
            # Without rules, only what stays is no problem.
            if is_equal(original, modified):
                return
            raise
        # differs from what one would expect: equal objects are sent as well, as kubectl does.
        if field.strategy == "replace":
            if not self.ignores_additions:
                patch[key] = modified
        elif changes := replace(self, retains_keys=field.retains_keys).objects(original, modified, field.rules):
            patch[key] = changes

    def _diff_list(self, key: str, original: list[Any], modified: list[Any], patch: Plain, rules: MergeRules) -> None:
        try:
            field = rules.list_field(key)
        except StrategicMergeError:
            if is_equal(original, modified):
                return
            raise
        if field.strategy != "merge":
            self._replace(key, original, modified, patch)
            return
        options = replace(self, retains_keys=field.retains_keys)
        added, deleted, order = options.lists(original, modified, field)
        if added:
            patch[key] = added
        if deleted:
            patch[f"{DELETE_FROM_LIST}/{key}"] = deleted
        if order:
            patch[f"{SET_ORDER}/{key}"] = order

    def _replace(self, key: str, original: object, modified: object, patch: Plain) -> None:
        if not self.ignores_additions and not is_equal(original, modified):
            patch[key] = modified

    def lists(
        self, original: list[Any], modified: list[Any], field: FieldMerge
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Compute the difference of two lists: what to merge, the scalars to delete, and the order."""
        if not original:
            return ([] if self.ignores_additions else modified), [], []
        if element_type(original, modified) is dict:
            return self._lists_of_objects(original, modified, field)
        return self._lists_of_scalars(original, modified, field.merge_key)

    def _lists_of_objects(
        self, original: list[Plain], modified: list[Plain], field: FieldMerge
    ) -> tuple[list[Any], list[Any], list[Any]]:
        merge_key = field.merge_key
        old, new = _by_key(original, merge_key), _by_key(modified, merge_key)
        changed: list[Plain] = []
        deleted: list[Plain] = []
        while old or new:
            # The last of each is the least.
            if old and new and old[-1][0] == new[-1][0]:
                before, after = old.pop()[1], new.pop()[1]
                if difference := self.objects(before, after, field.rules):
                    # The key identifies the item on the server.
                    changed.append({**difference, merge_key: after[merge_key]})
            elif not old or (new and old[-1][0] > new[-1][0]):
                added = new.pop()[1]
                if not self.ignores_additions:
                    changed.append(added)
            else:
                gone = old.pop()[1]
                if not self.ignores_deletions:
                    deleted.append({merge_key: gone[merge_key], PATCH: "delete"})
        patch = [*sort_by(changed, modified, merge_key, are_objects=True), *deleted]
        has_moved = [identity(item[merge_key]) for item in original] != [
            identity(member[merge_key]) for member in modified
        ]
        # The order is sent whenever the server could not derive it from the patch.
        is_ordered = (not self.ignores_additions and (bool(patch) or has_moved)) or (
            not self.ignores_deletions and bool(patch)
        )
        order = [{merge_key: item[merge_key]} for item in modified]
        return patch, [], order if self.sets_order and is_ordered else []

    def _lists_of_scalars(
        self, original: list[Any], modified: list[Any], merge_key: str
    ) -> tuple[list[Any], list[Any], list[Any]]:
        # kubectl sorts the list in place, and a later comparison of this list depends on it.
        original.sort(key=go_value)
        old = sorted(original, key=go_value, reverse=True)
        new = sorted(modified, key=go_value, reverse=True)
        added: list[Any] = []
        deleted: list[Any] = []
        while old or new:
            if old and new and go_value(old[-1]) == go_value(new[-1]):
                old.pop()
                new.pop()
            elif not old or (new and go_value(old[-1]) > go_value(new[-1])):
                added.append(new.pop())
            else:
                deleted.append(old.pop())
        added = [] if self.ignores_additions else added
        deleted = [] if self.ignores_deletions else list({identity(item): item for item in deleted}.values())
        is_ordered = bool(deleted) or (not self.ignores_additions and not is_equal(original, modified))
        patch = sort_by(added, modified, merge_key, are_objects=False)
        return patch, deleted, modified if self.sets_order and is_ordered else []


def _by_key(items: list[Plain], merge_key: str) -> list[tuple[str, Plain]]:
    """Sort the items of a list by the text of their merge keys, the greatest first.

    Items with equal keys keep their order, so that the last of them is taken first, as kubectl does.
    """
    keyed: list[tuple[str, Plain]] = []
    for item in items:
        if not is_object(item):
            raise wrong_type(dict, item)
        if merge_key not in item:
            raise missing_key(item, merge_key)
        # Sorted as text, as Go formats the keys; numbers therefore sort as 1, 10, 2.
        keyed.append((go_value(item[merge_key]), item))
    return sorted(keyed, key=lambda pair: pair[0], reverse=True)
