"""What to change about objects before a cache holds them: mostly, what to leave out.

The transforms here work on the text of an object and decode nothing, so that what is left out costs next to nothing.
They are for objects as they come; one that was changed since must be copied first, which `apply` and `compose` see to.
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
"""Gives what a cache holds instead of an object: the same, changed or not, or another.

It must be of the same kind and have the same name, namespace, uid and resource version. To transform something twice
must be the same as once.
"""

_Tree: TypeAlias = "dict[str, _Tree | None]"
"""What to keep of an object, by field: None for all of it, and otherwise what to keep of that."""

_IDENTITY: Final = (
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.resourceVersion",
    "metadata.uid",
)
"""What an object cannot be without."""
_ADDRESS: Final = " at 0x"
"""What Python says of what has no name."""
_STEP: Final = re.compile(r"[^\s.\[\]*'\"]+")
_MANAGED_FIELDS: Final = member_of(ObjectMeta, "managed_fields")


def apply(transform: Transform[T], obj: T) -> T:
    """Transform an object for a cache: the result has bytes that say what it says.

    Raises:
        ArgumentError: If the transform makes something else of it.
        Exception: Whatever the transform raises.
    """
    if isinstance(transform, Rewrite):
        # Its results have bytes of their own already.
        return transform(obj)
    # Taken before the call: a transform may change the object in place.
    cls, key, identity = _class_of(obj), obj.key, _identity(obj)
    result: object = transform(obj)
    if not isinstance(result, cls) or _identity(result) != identity:
        got = "something else" if isinstance(result, cls) else f"a {type(result).__name__}"
        raise ArgumentError(
            f'the transform of {cls.__name__} "{key}" returned {got}: it must return that object, '
            "with its name, namespace, uid and resource version",
            value=result,
        )
    # A cache keeps bytes; those of an object that was changed in place are still the old ones.
    text = result.to_json()
    return result if text == result.wire_bytes else cls.from_wire(text)


@set_module("masthead.cache")
def compose(*transforms: Transform[T]) -> Transform[T]:
    """One transform that does what several do, in that order."""
    return _Composed(transforms)


def describe(transform: Transform[Any] | None) -> str:
    """A name for what a transform does, the same in every process; empty for none.

    Those of this module say all of it, functions where they are defined, and objects what their repr says.

    Raises:
        SnapshotError: If it has no name that identifies it.
    """
    name = "" if transform is None else _named(transform)
    if _ADDRESS in name:
        # The name itself may hold anything: that of a partial says what it was given.
        raise SnapshotError(
            f"a transform of type {type(transform).__name__} has no name by which the next process would know it, so that "
            "its snapshots cannot be distinguished from those of others; define it with def, without variables of a function "
            "around it, or give its class a __repr__ that says what it does"
        )
    return name


@set_module("masthead.cache")
def keep_fields(*paths: str) -> Rewrite:
    """A transform that keeps nothing but these fields, and what an object cannot be without.

    That is ``apiVersion``, ``kind``, and in the metadata name, namespace, uid and resource version.

    Args:
        paths: Names as they are on the wire, with dots between: ``metadata.labels``, ``spec.nodeName``. All of a field is
            kept unless a path goes on, also through lists: ``spec.containers.image`` keeps every container's image.
            Keys with dots in them cannot be named; keep the whole map.

    Raises:
        ArgumentError: If one is no path.
    """
    return _Keep(paths)


@set_module("masthead.cache")
class Rewrite(ABC):
    """A transform whose results have bytes of their own, which say what they say."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, obj: T) -> T:
        """Transform an object."""


class _Drop(Rewrite):
    __slots__ = ()

    def __call__(self, obj: T) -> T:
        """The object without them; the same if it has none."""
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
"""A transform that drops ``metadata.managedFields``: a quarter of a pod, and hardly ever read."""


class _Keep(Rewrite):
    __slots__ = ("_decode", "_paths", "_tree")

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths
        self._tree = _tree((*_IDENTITY, *paths))
        self._decode = typeinfo.json_decoder(_struct(self._tree)).decode

    def __call__(self, obj: T) -> T:
        """An object that has these fields only."""
        text = _text_of(obj)
        try:
            kept: object = self._decode(text)  # in C, and what is not kept is skipped: a quarter of the time
        except msgspec.ValidationError:  # a path goes on where there is neither a map nor a list of maps
            kept = _kept(text, self._tree)
        if unsaid := _kind_of(obj):
            kept = {**unsaid, **split_fields(wire.encode(kept))}
        return _class_of(obj).from_wire(wire.encode(kept))

    def __repr__(self) -> str:
        return f"keep_fields({', '.join(map(repr, self._paths))})"


class _Composed(Rewrite):
    __slots__ = ("_transforms",)

    def __init__(self, transforms: tuple[Transform[Any], ...]) -> None:
        self._transforms = transforms

    def __call__(self, obj: T) -> T:
        """The object after all of them."""
        for transform in self._transforms:
            obj = apply(transform, obj)
        return obj

    def __repr__(self) -> str:
        return f"compose({', '.join(map(_named, self._transforms))})"


def _named(transform: Transform[Any]) -> str:
    """What to call a transform; with an address in it, if it has no name."""
    if not isinstance(transform, FunctionType) or transform.__name__ == "<lambda>":
        return repr(transform)
    if "<locals>" in transform.__qualname__ and transform.__closure__:
        return repr(transform)  # by the variables around it, it may be another each time
    return f"{transform.__module__}.{transform.__qualname__}"


def _identity(obj: Object) -> tuple[str, ...]:
    metadata = obj.metadata
    return metadata.namespace, metadata.name, metadata.uid, metadata.resource_version


def _class_of(obj: T) -> type[T]:
    """The class as its author wrote it; what an object has beyond that is found again in its text."""
    return cast("type[T]", type(obj).api_type)


def _text_of(obj: Object) -> bytes:
    return source if (source := obj.wire_bytes) is not None else obj.to_json()


def _kind_of(obj: Object) -> dict[str, object]:
    """What the text of an object without a type may not say: of items, only their list says what they are."""
    if not isinstance(obj, Unstructured) or not obj.kind:
        return {}
    return {"apiVersion": obj.api_version, "kind": obj.kind}


def _tree(paths: Iterable[str]) -> _Tree:
    """Several paths as one tree.

    Raises:
        ArgumentError: If one is no path.
    """
    tree: _Tree = {}
    for path in paths:
        steps = path.split(".") if isinstance(cast("object", path), str) else []
        if not steps or not all(map(_STEP.fullmatch, steps)):
            raise ArgumentError(
                f'{path!r} is not a field path; write it as it is on the wire, such as "spec.nodeName"',
                value=path,
            )
        _plant(tree, steps)
    return tree


def _plant(tree: _Tree, steps: list[str]) -> None:
    for step in steps[:-1]:
        further = tree.setdefault(step, {})
        if further is None:  # all of it is kept anyway
            return
        tree = further
    tree[steps[-1]] = None


def _struct(tree: _Tree) -> type[msgspec.Struct]:
    """A type whose fields are those of a tree, each as its bytes."""
    fields: list[tuple[str, Any, Any]] = []
    for index, further in enumerate(tree.values()):
        if further is None:
            annotation: Any = Raw
        else:
            below: Any = _struct(further)
            # A path also leads through lists, into each item, and through null.
            annotation = below | list[below] | None
        # Numbered: a name on the wire need not be a Python identifier.
        fields.append((f"f{index}", annotation, UNSET))
    names = dict(zip((name for name, _, _ in fields), tree, strict=True))
    return msgspec.defstruct("Kept", fields, rename=names)


def _kept(text: bytes | Raw, tree: _Tree) -> object:
    """The same of any text, level by level; None where a path goes on and there is nothing to go into."""
    try:
        level = _level.decode(text)
    except msgspec.ValidationError:
        return None
    if isinstance(level, list):
        found = (_kept(each, tree) for each in level)
        return [each for each in found if each is not None]
    kept: dict[str, object] = {}
    for name, further in tree.items():
        value: object = level.get(name)
        # A null has nothing below it, and stays as it is.
        if further is not None and name in level and bytes(level[name]) != b"null":
            value = _kept(level[name], further)
        if value is not None:
            kept[name] = value
    return kept


_level: Final[msgspec.json.Decoder[dict[str, Raw] | list[Raw]]] = typeinfo.json_decoder(dict[str, Raw] | list[Raw])
