"""Client-side apply, as kubectl does it: an annotation holds the configuration of the last apply."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta.patch import Patch
from masthead._meta.registry import registry
from masthead.errors import ArgumentError, UnknownKindError

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.object import Object
    from masthead._meta.plain import Plain


__all__ = ["LAST_APPLIED", "apply_patch", "builtin_class", "configuration_of"]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation, which kubectl reads and writes, too."""

_GO_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def configuration_of(obj: Object, namespace: str | None) -> Plain:
    """Return the configuration to apply, annotated with itself.

    Args:
        obj: The object, with the fields to apply.
        namespace: The namespace, if the object names none.
    """
    configuration: Plain = obj.to_dict()
    metadata: Plain = configuration.setdefault("metadata", {})
    # As kubectl, which writes the namespace of the request into the annotation.
    if namespace and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    # Without the annotation itself, which would contain all earlier ones.
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != LAST_APPLIED}
    metadata["annotations"] = annotations
    metadata["annotations"] = {**annotations, LAST_APPLIED: _written(configuration)}
    return configuration


def apply_patch(configuration: Plain, current: Object, gvk: GroupVersionKind) -> Patch | None:
    """Compute the patch that applies a configuration; None if there is nothing to change.

    Args:
        configuration: What `configuration_of` returns.
        current: The object on the server.
        gvk: Its kind. Kinds of Kubernetes itself are patched with strategic merge patches, others with merge patches.

    Raises:
        ArgumentError: If a list of the configuration cannot be merged: an item lacks the field that identifies
            it, say.
    """
    from masthead._schema.merge_errors import StrategicMergeError

    original, found = _last_applied(current), current.to_dict()
    try:
        # Custom resources know no strategic merge, whose rules are in the Go types.
        if (cls := builtin_class(gvk)) is not None:
            from masthead._schema.merge_definitions import merge_rules_of
            from masthead._schema.strategic_diff import three_way_patch

            patch = three_way_patch(original, configuration, found, merge_rules_of(cls))
            return Patch.strategic(patch) if patch else None
        from masthead._schema.three_way_merge import three_way_merge_patch

        patch = three_way_merge_patch(original, configuration, found)
        return Patch.merge(patch) if patch else None
    except StrategicMergeError as error:
        raise ArgumentError(f"to apply {current.kind} {current.key}: {error}", value=current.key) from error


def _last_applied(current: Object) -> Plain:
    text = current.metadata.annotations.get(LAST_APPLIED)
    if not text:
        return {}
    try:
        found: object = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ArgumentError(
            f"the annotation {LAST_APPLIED} of {current.kind} {current.key} is no JSON: {error}",
            value=current.key,
        ) from None
    return cast("Plain", found) if isinstance(found, dict) else {}


def builtin_class(gvk: GroupVersionKind) -> type[Object] | None:
    """The class of a kind of Kubernetes itself; None for any other kind."""
    try:
        cls = registry.object_class(gvk)
    except UnknownKindError:
        return None
    return cls if cls.__module__.startswith("masthead.api.") else None


def _written(configuration: Plain) -> str:
    """Write a configuration exactly as kubectl does."""
    # Byte for byte as Go writes it, so that kubectl sees no change.
    text = json.dumps(configuration, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.translate(_GO_ESCAPES) + "\n"
