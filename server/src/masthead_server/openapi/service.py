"""The OpenAPI documents of one server, which change with its catalog."""

from __future__ import annotations

import gzip
import hashlib
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta.gvk import GroupVersion
from masthead_server import scheme
from masthead_server.openapi.custom import CustomDefinitions, schema_name
from masthead_server.openapi.documents import CUSTOM_INFO, document_of, needed_schemas, with_shared_kinds
from masthead_server.openapi.enums import DOCUMENTED
from masthead_server.openapi.gnostic import PROTOBUF_SWAGGER
from masthead_server.openapi.operations import Operation, PathItem
from masthead_server.openapi.paths import META, discovery_item, paths_of
from masthead_server.openapi.swagger import JSON_SWAGGER
from masthead_server.wire.request import JSON_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.openapi.swagger import SwaggerEncoding
    from masthead_server.resources.catalog import Catalog
    from masthead_server.resources.resource import ServedResource

__all__ = ["OpenApiDocument", "OpenApiService"]

_ROOT: Final = "/openapi/v3/"
_VERSION_INFO: Final = "io.k8s.apimachinery.pkg.version.Info"
_MAX_CACHED: Final = 256
"""The maximum number of cached documents of custom resources; further documents are built for each request."""


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """A document, and the hash that changes with it."""

    body: bytes
    hash: str

    @classmethod
    def of(cls, body: bytes) -> OpenApiDocument:
        """Return a document with the hash of its bytes."""
        return cls(body, hashlib.sha512(body).hexdigest().upper())


@dataclass(frozen=True, slots=True)
class _CustomDocument:
    """The cached document of custom resources: the resources that it describes, and its hash.

    The references are weak, so that deleted definitions are freed before the next request of the index.
    """

    resources: tuple[weakref.ref[ServedResource], ...]
    hash: str


class OpenApiService:
    """Builds documents on their first request. Documents of built-in resources are constants of the process.

    Threads: all methods may be called in any thread; only one thread at a time builds a document.

    Args:
        catalog: The served resources.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._making = threading.RLock()
        self._index: tuple[int, OpenApiDocument] | None = None
        self._custom: dict[GroupVersion, _CustomDocument] = {}
        self._kept: OrderedDict[str, OpenApiDocument] = OrderedDict()
        """Documents of custom resources by their hashes, the most recently used at the end."""
        self._swagger: tuple[int, dict[tuple[bool, bool], OpenApiDocument]] = (-1, {})

    @property
    def has_index(self) -> bool:
        """Whether the index for the current catalog is cached."""
        return self._index is not None and self._index[0] == self._catalog.generation

    def index(self) -> OpenApiDocument:
        """Return the list of documents, each with its URL, which has its hash."""
        if self._index is not None and self._index[0] == self._catalog.generation:
            return self._index[1]
        with self._making:
            # Read first: if a definition changes while the index is built, the result is outdated and built again.
            generation = self._catalog.generation
            # Hashes of group-versions that are no longer served are forgotten.
            self._custom = {
                group_version: self._custom[group_version]
                for group_version in self._group_versions()
                if group_version in self._custom
            }
            hashes = {name: self._hash_of(name) for name in sorted(self._names())}
            # A group-version may be removed before its turn comes.
            paths = {
                name: {"serverRelativeURL": f"{_ROOT}{name}?hash={digest}"} for name, digest in hashes.items() if digest
            }
            made = OpenApiDocument.of(msgspec.json.encode({"paths": paths}))
            self._index = (generation, made)
            return made

    def has(self, name: str) -> bool:
        """Whether a document is at hand, or does not exist."""
        return self._at_hand(name) is not None or not self._is_served(name)

    def get(self, name: str) -> OpenApiDocument | None:
        """Return a document by its name, such as ``apis/apps/v1``; None if it does not exist."""
        found = self._at_hand(name)
        # Without the lock, so that a wrong name does not wait for documents of others.
        if found is not None or not self._is_served(name):
            return found
        with self._making:
            if (item := _item_beside(name)) is not None:
                made = OpenApiDocument.of(document_of({f"/{name}/": item}, DOCUMENTED))
                _builtin_documents[name] = made
                return made
            return self._make(name)

    def has_swagger(self, *, is_protobuf: bool, is_gzip: bool) -> bool:
        """Whether the document of version 2 is at hand in this form."""
        generation, forms = self._swagger
        return generation == self._catalog.generation and (is_protobuf, is_gzip) in forms

    def swagger(self, *, is_protobuf: bool, is_gzip: bool) -> OpenApiDocument:
        """Return the document of version 2; its hash is the same in every form.

        Args:
            is_protobuf: Whether it is encoded in protobuf, or else in JSON.
            is_gzip: Whether it is compressed.
        """
        with self._making:
            # Forms of an outdated document are dropped together; each is large.
            if self._swagger[0] != self._catalog.generation:
                generation = self._catalog.generation
                made = OpenApiDocument.of(self._make_swagger(JSON_SWAGGER))
                self._swagger = (generation, {(False, False): made})
            forms = self._swagger[1]
            if (is_protobuf, False) not in forms:
                # The protobuf form has the hash of the JSON form, so that clients of both share one ETag.
                plain = forms[False, False]
                forms[True, False] = OpenApiDocument(self._make_swagger(PROTOBUF_SWAGGER), plain.hash)
            if (is_protobuf, is_gzip) not in forms:
                whole = forms[is_protobuf, False]
                # Fast rather than small: it mostly goes to the same machine.
                forms[is_protobuf, True] = OpenApiDocument(gzip.compress(whole.body, 1, mtime=0), whole.hash)
            return forms[is_protobuf, is_gzip]

    def _group_versions(self) -> Iterator[GroupVersion]:
        for group in self._catalog.groups():
            for version in self._catalog.versions(group):
                yield GroupVersion(group, version)

    def _names(self) -> Iterator[str]:
        yield from ("version", "api", "apis")
        yield from (f"apis/{group}" for group in scheme.VERSIONS if group)
        yield from (group_version.path.removeprefix("/") for group_version in self._group_versions())

    def _is_served(self, name: str) -> bool:
        group_version = _group_version(name)
        if group_version is None:
            return _item_beside(name) is not None
        return group_version.version in self._catalog.versions(group_version.group)

    def _hash_of(self, name: str) -> str:
        group_version = _group_version(name)
        if group_version is not None and (known := self._known_custom(group_version)) is not None:
            return known.hash
        # The hash of a document is that of its bytes, so that it has to be built.
        found = self.get(name)
        return found.hash if found else ""

    def _known_custom(self, group_version: GroupVersion) -> _CustomDocument | None:
        """Return the cached facts about the document of custom resources, if they match the current definitions."""
        known = self._custom.get(group_version)
        return known if known is not None and known.resources == _weak(self._resources(group_version)) else None

    def _resources(self, group_version: GroupVersion) -> tuple[ServedResource, ...]:
        return tuple(self._catalog.resources(group_version.group, group_version.version))

    def _at_hand(self, name: str) -> OpenApiDocument | None:
        if (builtin := _builtin_documents.get(name)) is not None:
            return builtin
        group_version = _group_version(name)
        known = self._known_custom(group_version) if group_version is not None else None
        return self._kept.get(known.hash) if known is not None else None

    def _make(self, name: str) -> OpenApiDocument | None:
        group_version = _group_version(name)
        resources = self._resources(group_version) if group_version is not None else ()
        # The definition may have been deleted between the check of the name and this call.
        if group_version is None or not resources:
            return None
        paths = paths_of(group_version, resources, schema_name)
        if not any(resource.is_custom for resource in resources):
            made = OpenApiDocument.of(document_of(paths, DOCUMENTED, [group_version]))
            # Built-in documents never change, and are shared by all servers of the process.
            _builtin_documents[name] = made
            return made
        body = document_of(paths, CustomDefinitions(resources), _scheme_versions(), info=CUSTOM_INFO)
        made = OpenApiDocument.of(body)
        self._custom[group_version] = _CustomDocument(_weak(resources), made.hash)
        self._kept[made.hash] = made
        self._kept.move_to_end(made.hash)
        while len(self._kept) > _MAX_CACHED:
            self._kept.popitem(last=False)
        return made

    def _make_swagger(self, encoding: SwaggerEncoding) -> bytes:
        items = {f"/{name}/": item for name in self._names() if (item := _item_beside(name)) is not None}
        paths = {path: encoding.path(item) for path, item in items.items()}
        names = {name for item in items.values() for name in item.schemas()}
        custom: list[ServedResource] = []
        for group_version in self._group_versions():
            resources = self._resources(group_version)
            custom += (resource for resource in resources if resource.is_custom)
            for path, item in paths_of(group_version, resources, schema_name).items():
                paths[path] = encoding.path(item)
                names.update(item.schemas())
        definitions = CustomDefinitions(custom)
        # Definitions of custom resources may refer to Kubernetes' own types, so both are resolved together.
        schemas = with_shared_kinds(needed_schemas(names, definitions), _scheme_versions())
        return encoding.document(
            dict(sorted(paths.items())),
            {name: encoding.definition(definitions.definition(name, each)) for name, each in schemas.items()},
        )


_builtin_documents: Final[dict[str, OpenApiDocument]] = {}
"""The documents of the scheme's group-versions and of discovery, which are the same for every server."""


def _weak(resources: tuple[ServedResource, ...]) -> tuple[weakref.ref[ServedResource], ...]:
    return tuple(map(weakref.ref, resources))


def _group_version(name: str) -> GroupVersion | None:
    """Return the group-version that a document describes; None if it describes something else."""
    match name.split("/"):
        case ["api", version]:
            return GroupVersion("", version)
        case ["apis", group, version] if group:
            return GroupVersion(group, version)
        case _:
            return None


def _scheme_versions() -> list[GroupVersion]:
    return [GroupVersion(group, version) for group, versions in scheme.VERSIONS.items() for version in versions]


def _item_beside(name: str) -> PathItem | None:
    """Return the one path of a document that describes no group-version; None if there is no such document."""
    match name.split("/"):
        case ["version"]:
            return _version_item()
        case ["api"]:
            return discovery_item("/api", "getAPIVersions", f"{META}APIVersions")
        case ["apis"]:
            return discovery_item("/apis", "getAPIVersions", f"{META}APIGroupList")
        case ["apis", group] if group and group in scheme.VERSIONS:
            return discovery_item(f"/apis/{group}", "getAPIGroup", f"{META}APIGroup")
        case _:
            return None


def _version_item() -> PathItem:
    operation = Operation(
        identifier="getCodeVersion",
        tag="version",
        result=_VERSION_INFO,
        consumes=(JSON_TYPE,),
        produces=(JSON_TYPE,),
    )
    return PathItem({"get": operation})
