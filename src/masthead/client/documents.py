"""Manifests: where they come from, what is in them, and what is wrong with them. Nothing here speaks to a server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast, runtime_checkable

from masthead.client.ordering import is_definition
from masthead.errors import DecodeError, InvalidValueError, UnknownKindError
from masthead.meta import names, yaml
from masthead.meta.gvk import GroupVersionKind
from masthead.meta.model import Struct
from masthead.meta.registry import registry
from masthead.meta.unstructured import Unstructured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.meta.object import Object

__all__ = [
    "Document",
    "Readable",
    "Served",
    "Source",
    "defined_kinds",
    "defined_namespaces",
    "known_kind",
    "read_documents",
]


@runtime_checkable
class Readable(Protocol):
    """An open file."""

    def read(self) -> str | bytes:
        """All of it."""
        ...


Source: TypeAlias = (
    "os.PathLike[str] | str | bytes | Readable | Mapping[str, object] | Struct | Iterable[Source]"
)
"""Where manifests come from: the path of a file or folder, YAML or JSON text, an open file, plain data, an object or a
list of objects, or several of these. A ``str`` is text, never a path."""

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a manifest.

    Attributes:
        origin: Where it stands: ``web.yaml, document 2``.
        obj: The object.
    """

    origin: str
    obj: Unstructured

    @property
    def gvk(self) -> GroupVersionKind:
        """What it is."""
        return self.obj.gvk

    @property
    def label(self) -> str:
        """Which object it is, for messages: ``Deployment default/web (web.yaml, document 2)``."""
        return f"{self.obj.kind} {self.obj.key} ({self.origin})"

    def in_namespace(self, namespace: str) -> Document:
        """The same in another namespace; empty for none."""
        moved = self.obj.copy()
        moved.metadata.namespace = namespace
        return replace(self, obj=moved)


def read_documents(source: Source) -> tuple[list[Document], list[str]]:
    """Read everything, and check as much of it as can be checked without a server.

    Returns:
        What could be read, and what is wrong with the rest.
    """
    documents: list[Document] = []
    problems: list[str] = []
    for origin, data in _parts(source, "manifest"):
        if isinstance(data, str):
            problems.append(f"{origin}: {data}")
        elif problem := _problem_with(data):
            problems.append(f"{origin}: {problem}")
        else:
            documents.append(Document(origin, Unstructured.from_dict(data)))
    return documents, problems


@dataclass(frozen=True, slots=True)
class Served:
    """Where the objects of a kind are served.

    Attributes:
        resource: The plural.
        namespaced: Whether they live in namespaces.
    """

    resource: str
    namespaced: bool


def defined_kinds(documents: Iterable[Document]) -> dict[tuple[str, str], Served]:
    """What the documents themselves define, by group and kind."""
    definitions = [each.obj for each in documents if is_definition(each.gvk)]
    return {
        (str(each.get("spec", "group")), str(each.get("spec", "names", "kind"))): Served(
            str(each.get("spec", "names", "plural")), each.get("spec", "scope") != "Cluster"
        )
        for each in definitions
    }


def defined_namespaces(documents: Iterable[Document]) -> frozenset[str]:
    """The namespaces that are among the documents."""
    return frozenset(each.obj.metadata.name for each in documents if each.gvk == _NAMESPACE)


def known_kind(gvk: GroupVersionKind) -> Served | None:
    """Where a kind that has a type is served; None if nobody has said."""
    try:
        resource = registry.object_class(gvk).RESOURCE
    except UnknownKindError:
        return None
    return None if resource is None else Served(resource.name, resource.namespaced)


# What a source comes apart into: where it stands, and the data of one object or, as text, what is wrong with it.
_Part: TypeAlias = "tuple[str, Mapping[str, object] | str]"


def _parts(source: object, origin: str) -> Iterator[_Part]:
    if isinstance(source, os.PathLike):
        yield from _files(Path(cast("os.PathLike[str]", source)))
    elif isinstance(source, str | bytes):
        yield from _text(source, origin)
    elif isinstance(source, Readable):
        yield from _text(source.read(), str(getattr(source, "name", origin)))
    elif isinstance(source, Struct):
        yield from _data(source.to_dict(), origin)
    elif isinstance(source, Mapping):
        yield from _data(cast("Mapping[str, object]", source), origin)
    elif isinstance(source, Iterable):
        for number, each in enumerate(cast("Iterable[object]", source), 1):
            yield from _parts(each, f"{origin} {number}")
    else:
        yield origin, f"is of type {type(source).__name__}; give a path, text, data or an object"


def _files(path: Path) -> Iterator[_Part]:
    try:
        if not path.is_dir():
            yield from _text(path.read_bytes(), str(path))
            return
        found = sorted(each for each in path.iterdir() if each.suffix in _SUFFIXES and each.is_file())
    except OSError as error:
        yield str(path), f"cannot be read: {error.strerror}"
        return
    if not found:
        yield str(path), f"holds no manifests: no file ends in {', '.join(sorted(_SUFFIXES))}"
    for each in found:
        yield from _files(each)


def _text(text: str | bytes, origin: str) -> Iterator[_Part]:
    try:
        documents = yaml.load_all(text)
    except DecodeError as error:
        yield origin, str(error)
        return
    for number, document in enumerate(documents, 1):
        yield from _data(document, f"{origin}, document {number}")


def _data(data: object, origin: str) -> Iterator[_Part]:
    if not isinstance(data, Mapping):
        hint = ' (to read a file, give pathlib.Path("..."))' if isinstance(data, str) else ""
        yield origin, f"is not an object{hint}"
        return
    mapping = cast("Mapping[str, object]", data)
    items, kind = mapping.get("items"), mapping.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        of = {"apiVersion": mapping.get("apiVersion"), "kind": kind.removesuffix("List")}
        for number, item in enumerate(cast("list[object]", items), 1):
            # The items of a typed list need not say what they are.
            named = (
                {**of, **cast("dict[str, object]", item)} if of["kind"] and isinstance(item, dict) else item
            )
            yield from _data(named, f"{origin}, item {number}")
    else:
        yield origin, mapping


def _problem_with(data: Mapping[str, object]) -> str:
    """What is wrong with the data of one object; empty if nothing is."""
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
        return "apiVersion and kind must say what it is"
    try:
        gvk = GroupVersionKind.of(api_version, kind)
        obj = Unstructured.from_dict(data)
        names.check_path_segment_name(obj.metadata.name)
    except DecodeError as error:
        return f"{kind}: {error.path}: {error.problem}" if error.path else f"{kind}: {error.problem}"
    except InvalidValueError as error:
        return f"{kind}: {error}"
    if not obj.metadata.name:
        return f"{kind}: metadata.name is missing"
    if obj.metadata.managed_fields:
        return f"{kind} {obj.key}: leave out metadata.managedFields; the server keeps them"
    return _type_problem(gvk, obj, data)


def _type_problem(gvk: GroupVersionKind, obj: Unstructured, data: Mapping[str, object]) -> str:
    """What does not fit the kind's type, where there is one."""
    try:
        cls: type[Object] = registry.object_class(gvk)
    except UnknownKindError:
        return ""
    try:
        cls.from_dict(data)
    except DecodeError as error:
        # The value at fault may be a password.
        says = "has a value of the wrong type" if cls.SENSITIVE else error.problem
        return f"{gvk.kind} {obj.key}: {error.path}: {says}"
    return ""
