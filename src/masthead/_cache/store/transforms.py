"""Transforms of objects before a cache stores them; most of them leave fields out.

The transforms here work on the JSON text and decode nothing, so that dropped fields cost next to nothing. They expect
unmodified objects; `apply` and `compose` copy a modified object first.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw

from masthead._meta import typeinfo, wire
from masthead._meta.field_decoder import split_fields
from masthead._meta.metadata import ObjectMeta
from masthead._meta.object import Object
from masthead._meta.slots import member_of
from masthead._meta.unstructured import Unstructured
from masthead._module import set_module
from masthead.errors import ArgumentError, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Rewrite", "Transform", "apply", "compose", "describe", "drop_managed_fields", "keep_fields"]

T = TypeVar("T", bound=Object)

Transform: TypeAlias = Callable[[T], T]
"""Returns the object to store: the same object, modified or not, or another.

The result must have the same kind, name, namespace, uid and resource version. A transform must be idempotent.
"""

_Tree: TypeAlias = "dict[str, _Tree | None]"
"""The fields to keep: None for a whole field, otherwise the tree of its fields."""

_IDENTITY: Final = (
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.resourceVersion",
    "metadata.uid",
)
"""The fields that are always kept."""
_ADDRESS: Final = " at 0x"
"""A part of the default repr of objects, which differs in every process."""
_STEP: Final = re.compile(r"[^\s.\[\]*'\"]+")
_MANAGED_FIELDS: Final = member_of(ObjectMeta, "managed_fields")


def apply(transform: Transform[T], obj: T) -> T:
    """Transform an object for a cache. The result has bytes with its exact content.

    Raises:
        ArgumentError: If the transform returns another kind or another object.
        Exception: Any exception of the transform.
    """
    if isinstance(transform, Rewrite):
        # Its results are decoded from new bytes already.
        return transform(obj)
    # Before the call: a transform may mutate the object.
    cls, key, identity = _class_of(obj), obj.key, _identity(obj)
    result: object = transform(obj)
    if not isinstance(result, cls) or _identity(result) != identity:
        got = "something else" if isinstance(result, cls) else f"a {type(result).__name__}"
        raise ArgumentError(
            f'the transform of {cls.__name__} "{key}" returned {got}: it must return that object, '
            "with its name, namespace, uid and resource version",
            value=result,
        )
    # A cache compares objects with their bytes, and a mutated object still has the old ones.
    text = result.to_json()
    return result if text == result.wire_bytes else cls.from_wire(text)


@set_module("masthead.cache")
def compose(*transforms: Transform[T]) -> Transform[T]:
    """Combine several transforms, applied in order."""
    return _Composed(transforms)


def describe(transform: Transform[Any] | None) -> str:
    """Describe a transform by a text that is the same in every process; empty for none.

    Transforms of this module are described in full, functions by their module and name, and objects by their repr.

    Raises:
        SnapshotError: If the transform has no stable name.
    """
    name = "" if transform is None else _format_name(transform)
    if _ADDRESS in name:
        # The message leaves the name out, because the repr of a partial may show secrets.
        raise SnapshotError(
            f"a transform of type {type(transform).__name__} has no name by which the next process would know it, so "
            "that its snapshots cannot be distinguished from those of others; define it with def, without variables of "
            "a function around it, or give its class a __repr__ that says what it does"
        )
    return name


@set_module("masthead.cache")
def keep_fields(*paths: str) -> Rewrite:
    """A transform that keeps only these fields, ``apiVersion``, ``kind``, and the identity in the metadata.

    The identity is the name, namespace, uid and resource version.

    Args:
        paths: Wire names separated by dots: ``metadata.labels``, ``spec.nodeName``. A path selects a whole field, and
            passes through lists: ``spec.containers.image`` keeps every container's image. Keys with dots cannot be
            selected; keep the whole map.

    Raises:
        ArgumentError: If a path is invalid.
    """
    return _Keep(paths)


@set_module("masthead.cache")
class Rewrite(ABC):
    """A transform that works on bytes, so that its results have bytes with their exact content."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, obj: T) -> T:
        """Transform an object."""


class _Drop(Rewrite):
    __slots__ = ()

    def __call__(self, obj: T) -> T:
        """The object without managed fields; the same object if it has none."""
        if _MANAGED_FIELDS.__get__(obj.metadata) is UNSET:
            return obj
        parts: dict[str, object] = {**_kind_of(obj), **split_fields(_text_of(obj))}
        metadata = split_fields(bytes(cast("Raw", parts["metadata"])))
        metadata.pop("managedFields", None)
        parts["metadata"] = metadata
        return _class_of(obj).from_wire(wire.encode(parts))

    def __repr__(self) -> str:
        return "drop_managed_fields"


drop_managed_fields: Final = _Drop()
"""A transform that drops ``metadata.managedFields``, a quarter of a pod and rarely read."""


class _Keep(Rewrite):
    __slots__ = ("_decode", "_paths", "_tree")

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths
        self._tree = _tree((*_IDENTITY, *paths))
        self._decode = typeinfo.json_decoder(_struct(self._tree)).decode

    def __call__(self, obj: T) -> T:
        """The object with the selected fields only."""
        text = _text_of(obj)
        try:
            # The decoder skips other fields in C, in a quarter of the time.
            fields: object = self._decode(text)
        except msgspec.ValidationError:  # a path continues below a value that is neither a map nor a list of maps
            fields = _select(text, self._tree)
        if implied := _kind_of(obj):
            fields = {**implied, **split_fields(wire.encode(fields))}
        return _class_of(obj).from_wire(wire.encode(fields))

    def __repr__(self) -> str:
        return f"keep_fields({', '.join(map(repr, self._paths))})"


class _Composed(Rewrite):
    __slots__ = ("_transforms",)

    def __init__(self, transforms: tuple[Transform[Any], ...]) -> None:
        self._transforms = transforms

    def __call__(self, obj: T) -> T:
        """The object after all transforms."""
        for transform in self._transforms:
            obj = apply(transform, obj)
        return obj

    def __repr__(self) -> str:
        return f"compose({', '.join(map(_format_name, self._transforms))})"


def _format_name(transform: Transform[Any]) -> str:
    """The name of a transform; with a memory address, if it has none."""
    if not isinstance(transform, FunctionType) or transform.__name__ == "<lambda>":
        return repr(transform)
    if "<locals>" in transform.__qualname__ and transform.__closure__:
        # A closure may differ with each call of the function around it.
        return repr(transform)
    return f"{transform.__module__}.{transform.__qualname__}"


def _identity(obj: Object) -> tuple[str, ...]:
    metadata = obj.metadata
    return metadata.namespace, metadata.name, metadata.uid, metadata.resource_version


def _class_of(obj: T) -> type[T]:
    """The class as its author wrote it. Internal subclasses are derived from the text again."""
    return cast("type[T]", type(obj).api_type)


def _text_of(obj: Object) -> bytes:
    return source if (source := obj.wire_bytes) is not None else obj.to_json()


def _kind_of(obj: Object) -> dict[str, object]:
    """The apiVersion and kind of an `Unstructured`, which the text of a list item lacks."""
    if not isinstance(obj, Unstructured) or not obj.kind:
        return {}
    return {"apiVersion": obj.api_version, "kind": obj.kind}


def _tree(paths: Iterable[str]) -> _Tree:
    """Merge paths into a tree.

    Raises:
        ArgumentError: If a path is invalid.
    """
    tree: _Tree = {}
    for path in paths:
        steps = path.split(".") if isinstance(cast("object", path), str) else []
        if not steps or not all(map(_STEP.fullmatch, steps)):
            raise ArgumentError(
                f'{path!r} is not a field path; write it as it is on the wire, such as "spec.nodeName"',
                value=path,
            )
        _insert(tree, steps)
    return tree


def _insert(tree: _Tree, steps: list[str]) -> None:
    for step in steps[:-1]:
        subtree = tree.setdefault(step, {})
        if subtree is None:  # a shorter path keeps the whole field
            return
        tree = subtree
    tree[steps[-1]] = None


def _struct(tree: _Tree) -> type[msgspec.Struct]:
    """A struct type with the fields of a tree, each as raw bytes."""
    fields: list[tuple[str, Any, Any]] = []
    for index, subtree in enumerate(tree.values()):
        if subtree is None:
            annotation: Any = Raw
        else:
            nested: Any = _struct(subtree)
            # A path passes through lists, into each item, and through null.
            annotation = nested | list[nested] | None
        # Numbered: a wire name need not be a Python identifier.
        fields.append((f"f{index}", annotation, UNSET))
    names = dict(zip((name for name, _, _ in fields), tree, strict=True))
    return msgspec.defstruct("Kept", fields, rename=names)


def _select(text: bytes | Raw, tree: _Tree) -> object:
    """Select the fields of a tree in any JSON text, level by level; None for a scalar below which a path continues."""
    try:
        level = _level.decode(text)
    except msgspec.ValidationError:
        return None
    if isinstance(level, list):
        selected = (_select(item, tree) for item in level)
        return [item for item in selected if item is not None]
    fields: dict[str, object] = {}
    for name, subtree in tree.items():
        value: object = level.get(name)
        # A null has no fields, and is kept.
        if subtree is not None and name in level and bytes(level[name]) != b"null":
            value = _select(level[name], subtree)
        if value is not None:
            fields[name] = value
    return fields


_level: Final[msgspec.json.Decoder[dict[str, Raw] | list[Raw]]] = typeinfo.json_decoder(dict[str, Raw] | list[Raw])
