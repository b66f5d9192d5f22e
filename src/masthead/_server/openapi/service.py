"""The OpenAPI documents of one server, which change with its catalog."""

from __future__ import annotations

import functools
import hashlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta.gvk import GroupVersion
from masthead._server import scheme
from masthead._server.definitions.builtin import DEFINITIONS, name_of
from masthead._server.openapi.documents import document_of
from masthead._server.openapi.operations import Operation, path_item, reference
from masthead._server.openapi.paths import META, discovery_item, paths_of
from masthead._server.wire.request import JSON_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersionKind
    from masthead._server.resources.catalog import Catalog

__all__ = ["OpenApiDocument", "OpenApiService"]

_ROOT: Final = "/openapi/v3/"
_VERSION_INFO: Final = "io.k8s.apimachinery.pkg.version.Info"
_builtin_documents: Final[dict[GroupVersion, OpenApiDocument]] = {}
"""The documents of the scheme's group-versions, which are the same for every server."""


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """A document, and the hash of its bytes."""

    body: bytes
    hash: str

    @classmethod
    def of(cls, body: bytes) -> OpenApiDocument:
        """Return a document with its hash."""
        return cls(body, hashlib.sha512(body).hexdigest().upper())


class OpenApiService:
    """Makes the documents when they are first requested. Those of built-in resources are constants of the process.

    Threads: all methods may be called in any thread; one document is made at a time.

    Args:
        catalog: What the server serves.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._making = threading.RLock()
        self._index: tuple[int, OpenApiDocument] | None = None

    @property
    def has_index(self) -> bool:
        """Whether the index is at hand for the catalog as it is."""
        return self._index is not None and self._index[0] == self._catalog.generation

    def index(self) -> OpenApiDocument:
        """Return the list of documents, each with its URL, which has its hash."""
        with self._making:
            generation = self._catalog.generation
            if self._index is None or self._index[0] != generation:
                paths = {
                    name: {"serverRelativeURL": f"{_ROOT}{name}?hash={self._hash_of(name)}"}
                    for name in sorted(self._names())
                }
                self._index = (generation, OpenApiDocument.of(msgspec.json.encode({"paths": paths})))
            return self._index[1]

    def get(self, name: str) -> OpenApiDocument | None:
        """Return a document by its name, such as ``apis/apps/v1``; None if there is none."""
        with self._making:
            match name.split("/"):
                case ["version"]:
                    return _version_document()
                case ["api"]:
                    return _groups_document("/api", "getAPIVersions", f"{META}APIVersions")
                case ["apis"]:
                    return _groups_document("/apis", "getAPIVersions", f"{META}APIGroupList")
                case ["apis", group] if group in scheme.VERSIONS and group:
                    return _groups_document(f"/apis/{group}", "getAPIGroup", f"{META}APIGroup")
                case ["api", version]:
                    return self._of(GroupVersion("", version))
                case ["apis", group, version] if group:
                    return self._of(GroupVersion(group, version))
                case _:
                    return None

    def _names(self) -> Iterator[str]:
        yield from ("version", "api", "apis")
        for group in self._catalog.groups():
            if group and group in scheme.VERSIONS:
                yield f"apis/{group}"
            for version in self._catalog.versions(group):
                yield GroupVersion(group, version).path.removeprefix("/")

    def _hash_of(self, name: str) -> str:
        found = self.get(name)
        return found.hash if found else ""

    def _of(self, group_version: GroupVersion) -> OpenApiDocument | None:
        group, version = group_version.group, group_version.version
        if version not in self._catalog.versions(group):
            return None
        if group_version not in _builtin_documents:
            _builtin_documents[group_version] = self._make(group_version)
        return _builtin_documents[group_version]

    def _make(self, group_version: GroupVersion) -> OpenApiDocument:
        resources = self._catalog.resources(group_version.group, group_version.version)
        paths = paths_of(group_version, resources, _schema_name)
        return OpenApiDocument.of(document_of(paths, DEFINITIONS, [group_version]))


def _schema_name(gvk: GroupVersionKind) -> str:
    return name_of(cast("ApiType", scheme.object_class(gvk)))


@functools.cache
def _version_document() -> OpenApiDocument:
    operation = Operation("getCodeVersion", "version", reference(_VERSION_INFO), (JSON_TYPE,))
    return OpenApiDocument.of(document_of({"/version/": path_item({"get": operation})}, DEFINITIONS))


@functools.cache
def _groups_document(path: str, operation: str, schema: str) -> OpenApiDocument:
    return OpenApiDocument.of(document_of({f"{path}/": discovery_item(path, operation, schema)}, DEFINITIONS))
