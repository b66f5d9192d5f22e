"""Reading and validating manifests, without a server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast, runtime_checkable

from masthead._client.install_order import is_definition
from masthead._client.json_streams import separate_json
from masthead._meta import names
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.model import Struct
from masthead._meta.registry import registry
from masthead._meta.unstructured import Unstructured
from masthead._module import set_module
from masthead.errors import ArgumentError, DecodeError, ManifestError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead._meta.object import Object

__all__ = [
    "MANIFEST_SUFFIXES",
    "KindScope",
    "ManifestDocument",
    "ManifestSource",
    "Readable",
    "defined_kinds",
    "defined_namespaces",
    "known_kind",
    "load_manifests",
    "read_documents",
    "refusal",
]


@set_module("masthead.manifests")
@runtime_checkable
class Readable(Protocol):
    """An open file."""

    def read(self) -> str | bytes:
        """All of it."""
        ...


ManifestSource: TypeAlias = (
    "os.PathLike[str] | str | bytes | Readable | Mapping[str, object] | Struct | Iterable[ManifestSource]"
)
"""A source of manifests: the path of a file or directory, YAML or JSON text, an open file, plain data, an object or a
list of objects, or several of these. A ``str`` is text, never a path."""

MANIFEST_SUFFIXES: Final = (".json", ".yaml", ".yml")
"""How the names of files end that are read of a directory."""
_NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")
_SHOWN: Final = 20
"""How many problems a message lists; the error has all of them."""


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One object of a manifest.

    Attributes:
        origin: Where it was read: ``web.yaml, document 2``.
        obj: The object.
    """

    origin: str
    obj: Unstructured

    @property
    def gvk(self) -> GroupVersionKind:
        """Its kind."""
        return self.obj.gvk

    @property
    def label(self) -> str:
        """The object and its origin, for messages: ``Deployment default/web (web.yaml, document 2)``."""
        return f"{self.obj.kind} {self.obj.key} ({self.origin})"

    def in_namespace(self, namespace: str) -> ManifestDocument:
        """A copy in another namespace; empty for none."""
        # The document may belong to the caller.
        moved = self.obj.copy()
        moved.metadata.namespace = namespace
        return replace(self, obj=moved)


@set_module("masthead")
def load_manifests(source: ManifestSource, *, strict: bool = False) -> list[Object]:
    """Decode manifests into objects: typed, or `Unstructured` if no class of the kind is registered. Nothing is sent.

    ::

        for obj in masthead.load_manifests("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"):
            print(obj.kind, obj.key)

    Lists (``kind: List``, ``ConfigMapList``) are split into their items, empty documents are skipped, and JSON
    objects may follow each other without anything between them, as for kubectl. The files of a directory are
    read in the order of their names; its subdirectories are not read.

    Args:
        source: The path of a file or directory, YAML or JSON text, an open file, plain data, or several of
            these. A ``str`` is text, never a path.
        strict: Reject fields that a kind's class does not have, instead of keeping them.

    Returns:
        The objects, in the order of the manifests.

    Raises:
        ManifestError: If something cannot be read or does not match its kind. It lists every problem, each
            with its file, the number of the document and the object.
    """
    loaded: list[Object] = []
    problems: list[str] = []
    for origin, data in _parts(source, "manifest"):
        # A part that is text describes why it could not be read.
        problem = data if isinstance(data, str) else _identity_problem(data)
        if isinstance(data, str) or problem:
            problems.append(f"{origin}: {problem}")
            continue
        try:
            loaded.append(_class_of(data).from_dict(data, strict=strict))
        except DecodeError as error:
            problems.append(f"{origin}: {_describe(error, data)}")
    # Only now, so that one run shows every problem.
    if problems:
        raise refusal("these manifests cannot be read:", problems)
    return loaded


def refusal(intro: str, problems: Sequence[str]) -> ManifestError:
    """The error for invalid manifests, one line per problem."""
    more = len(problems) - _SHOWN
    shown = [*problems[:_SHOWN], *([f"... and {more} more"] if more > 0 else [])]
    return ManifestError(intro + "".join(f"\n  {problem}" for problem in shown), problems=problems)


def read_documents(source: ManifestSource, *, identity_only: bool = False) -> tuple[list[ManifestDocument], list[str]]:
    """Read all documents, and check what can be checked without a server.

    Args:
        source: The manifests.
        identity_only: Check kind and name alone, not whether the object can be applied.

    Returns:
        The valid documents, and the problems of the others.
    """
    documents: list[ManifestDocument] = []
    problems: list[str] = []
    for origin, data in _parts(source, "manifest"):
        if isinstance(data, str):
            problems.append(f"{origin}: {data}")
        elif problem := (_identity_problem(data) or _name_problem(data)) if identity_only else _problem_with(data):
            problems.append(f"{origin}: {problem}")
        else:
            documents.append(ManifestDocument(origin, Unstructured.from_dict(data)))
    return documents, problems


@dataclass(frozen=True, slots=True)
class KindScope:
    """The resource of a kind, and its scope.

    Attributes:
        resource: The plural.
        namespaced: Whether the resource is namespaced.
    """

    resource: str
    namespaced: bool


def defined_kinds(documents: Iterable[ManifestDocument]) -> dict[tuple[str, str], KindScope]:
    """The kinds that the CustomResourceDefinitions among the documents define, by group and kind."""
    definitions = [document.obj for document in documents if is_definition(document.gvk)]
    return {
        # All versions of a kind share scope and plural.
        (str(definition.get("spec", "group")), str(definition.get("spec", "names", "kind"))): KindScope(
            str(definition.get("spec", "names", "plural")), definition.get("spec", "scope") != "Cluster"
        )
        for definition in definitions
    }


def defined_namespaces(documents: Iterable[ManifestDocument]) -> frozenset[str]:
    """The names of the namespaces among the documents."""
    return frozenset(document.obj.metadata.name for document in documents if document.gvk == _NAMESPACE)


def known_kind(gvk: GroupVersionKind) -> KindScope | None:
    """The resource of a registered kind; None if unknown."""
    try:
        resource = registry.object_class(gvk).RESOURCE
    except UnknownKindError:
        return None
    return None if resource is None else KindScope(resource.name, resource.namespaced)


# The parts of a source: the origin, and the data of one object or, as text, the problem.
_Part: TypeAlias = "tuple[str, Mapping[str, object] | str]"


def _parts(source: object, origin: str) -> Iterator[_Part]:
    # Iterable comes last: text, open files and mappings can be iterated, too.
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
        for number, document in enumerate(cast("Iterable[object]", source), 1):
            yield from _parts(document, f"{origin} {number}")
    else:
        yield origin, f"is of type {type(source).__name__}; use a path, text, data or an object"


def _files(path: Path) -> Iterator[_Part]:
    try:
        if not path.is_dir():
            # A file that is named is read whatever its suffix.
            yield from _text(path.read_bytes(), str(path))
            return
        found = sorted(child for child in path.iterdir() if child.suffix in MANIFEST_SUFFIXES and child.is_file())
    except OSError as error:
        yield str(path), f"cannot be read: {error.strerror}"
        return
    if not found:
        yield str(path), f"holds no manifests: no file ends in {', '.join(MANIFEST_SUFFIXES)}"
    for file in found:
        yield from _files(file)


def _text(text: str | bytes, origin: str) -> Iterator[_Part]:
    from masthead._meta import yaml  # most clients read no manifests: PyYAML takes 10 ms to import

    try:
        documents = yaml.load_all(separate_json(text), keep_empty=True)
    except DecodeError as error:
        yield origin, str(error)
        return
    for number, document in enumerate(documents, 1):
        # Files often end with a separator, or consist of comments only.
        if document is not None:
            yield from _data(document, f"{origin}, document {number}")


def _data(data: object, origin: str) -> Iterator[_Part]:
    if not isinstance(data, Mapping):
        # A frequent mistake: a path as text is read as YAML, which is a string.
        hint = ' (to read a file, give pathlib.Path("..."))' if isinstance(data, str) else ""
        yield origin, f"is not an object{hint}"
        return
    mapping = cast("Mapping[str, object]", data)
    items, kind = mapping.get("items"), mapping.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        of = {"apiVersion": mapping.get("apiVersion"), "kind": kind.removesuffix("List")}
        for number, item in enumerate(cast("list[object]", items), 1):
            # The items of a typed list need not carry apiVersion and kind.
            named = {**of, **cast("dict[str, object]", item)} if of["kind"] and isinstance(item, dict) else item
            yield from _data(named, f"{origin}, item {number}")
    else:
        yield origin, mapping


def _problem_with(data: Mapping[str, object]) -> str:
    """The problem of an object to apply; empty if it is valid."""
    if problem := _identity_problem(data) or _name_problem(data):
        return problem
    obj = Unstructured.from_dict(data)
    # The API server rejects an apply that contains them.
    if obj.metadata.managed_fields:
        return f"{obj.kind} {obj.key}: leave out metadata.managedFields; the server maintains them"
    # A wrong type that is found here is found before the first request.
    try:
        _class_of(data).from_dict(data)
    except DecodeError as error:
        return _describe(error, data)
    return ""


def _name_problem(data: Mapping[str, object]) -> str:
    """The problem of an object without a name; empty if it has one."""
    obj = Unstructured.from_dict(data)
    return "" if obj.metadata.name else f"{obj.kind}: metadata.name is missing"


def _identity_problem(data: Mapping[str, object]) -> str:
    """The problem with the data's apiVersion, kind or name; empty if it is valid."""
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
        return "apiVersion and kind are required"
    try:
        GroupVersionKind.of(api_version, kind)
        names.check_path_segment_name(Unstructured.from_dict(data).metadata.name)
    except DecodeError as error:
        return f"{kind}: {error.path}: {error.problem}" if error.path else f"{kind}: {error.problem}"
    except ArgumentError as error:
        return f"{kind}: {error}"
    return ""


def _class_of(data: Mapping[str, object]) -> type[Object]:
    """The registered class of an object's kind, or `Unstructured`."""
    try:
        return registry.object_class(GroupVersionKind.of(str(data["apiVersion"]), str(data["kind"])))
    except UnknownKindError:
        return Unstructured


def _describe(error: DecodeError, data: Mapping[str, object]) -> str:
    """Describe a decode error, with the object's kind and name."""
    obj = Unstructured.from_dict(data)
    # The invalid value may be a password; the name of an unknown field is not.
    is_shown = not _class_of(data).SENSITIVE or " has no field " in error.problem
    says = error.problem if is_shown else "has a value of the wrong type"
    return ": ".join(part for part in (f"{obj.kind} {obj.key}".rstrip(), error.path, says) if part)
