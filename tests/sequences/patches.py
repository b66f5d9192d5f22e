"""Patches that turn one value into another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random


def merge_patch(old: Any, new: Any) -> Any:
    """A merge patch (RFC 7386) from one object to another."""
    patch: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for name in sorted(new):
        if isinstance(old.get(name), dict) and isinstance(new[name], dict):
            if inner := merge_patch(old[name], new[name]):
                patch[name] = inner
        elif name not in old or old[name] != new[name]:
            patch[name] = new[name]
    return {name: patch[name] for name in sorted(patch)}


def json_patch(old: Any, new: Any, path: str = "") -> list[dict[str, Any]]:
    """A JSON patch (RFC 6902) from one value to another."""
    if isinstance(old, dict) and isinstance(new, dict):
        steps: list[dict[str, Any]] = []
        for name in sorted(old.keys() | new.keys()):
            inner = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in new:
                steps.append({"op": "remove", "path": inner})
            elif name not in old:
                steps.append({"op": "add", "path": inner, "value": new[name]})
            else:
                steps += json_patch(old[name], new[name], inner)
        return steps
    if isinstance(old, list) and isinstance(new, list) and len(old) <= len(new):
        steps = [each for index, one in enumerate(old) for each in json_patch(one, new[index], f"{path}/{index}")]
        return steps + [{"op": "add", "path": f"{path}/-", "value": each} for each in new[len(old) :]]
    return [] if old == new else [{"op": "replace", "path": path, "value": new}]


def with_directives(random: Random, patch: Any) -> Any:
    """A strategic merge patch some of whose items are removed, replaced or ordered."""
    if isinstance(patch, list):
        return [with_directives(random, each) for each in patch]
    if not isinstance(patch, dict):
        return patch
    changed = {name: with_directives(random, each) for name, each in patch.items()}
    if "name" in changed and random.random() < 0.2:
        return {"name": changed["name"], "$patch": "delete"}
    # Not in the policies of a scaler: an empty list of them is not defaulted, unlike one that is missing.
    if "periodSeconds" not in changed and random.random() < 0.03:
        changed["$patch"] = random.choice(("replace", "delete", "merge", "odd"))
    return changed
