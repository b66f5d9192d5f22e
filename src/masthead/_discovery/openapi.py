"""OpenAPI v3: an index, and one document per group-version."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import parse_qsl, urlsplit

import msgspec

from masthead._discovery.single_flight import SingleFlight
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersion
from masthead.errors import DecodeError, StatusError, UnknownKindError

if TYPE_CHECKING:
    from masthead._discovery.document_cache import DiscoveryDocument, DocumentCache
    from masthead._meta.shape import JSON
    from masthead._schema.documents import DocumentDefinitions

__all__ = ["OpenApi"]

_INDEX: Final = "/openapi/v3"
_MOVED: Final = frozenset({301, 302, 307, 308, 404})
"""The status codes for an outdated URL of the index."""


class _OpenApiIndexEntry(msgspec.Struct):
    address: str = msgspec.field(name="serverRelativeURL")


class _OpenApiIndex(msgspec.Struct):
    paths: dict[str, _OpenApiIndexEntry] | None = None


class OpenApi:
    """Fetches OpenAPI documents.

    The URLs of the index contain a hash of their document, so a document is fetched again only when it has changed.
    """

    def __init__(self, documents: DocumentCache) -> None:
        """Fetch through a cache of documents."""
        self._documents = documents
        self._index = SingleFlight(self._read_index)
        self._fetching: dict[str, SingleFlight[DiscoveryDocument]] = {}
        self._definitions: dict[str, tuple[bytes, DocumentDefinitions]] = {}

    async def paths(self) -> dict[str, str]:
        """Return the URL of each document by group-version, such as ``apis/apps/v1``.

        Raises:
            DecodeError: If the index is invalid.
            MastheadError: As for `RestClient.call`.
        """
        return dict(await self._index.run())

    async def document(self, api_version: str) -> dict[str, JSON]:
        """Return the document of a group-version.

        Raises:
            ArgumentError: If `api_version` is invalid.
            UnknownKindError: If the server has no document for it.
            DecodeError: If the response is not an OpenAPI document.
            MastheadError: As for `RestClient.call`.
        """
        name = GroupVersion.parse(api_version).path.removeprefix("/")
        return _plain(await self._body(name), name)

    async def definitions(self, api_version: str) -> DocumentDefinitions:
        """Return the schemas of a group-version; a document is decoded again only when it has changed.

        Raises:
            ArgumentError: If `api_version` is invalid.
            UnknownKindError: If the server has no document for it.
            DecodeError: If the response is not an OpenAPI document.
            MastheadError: As for `RestClient.call`.
        """
        from masthead._schema.documents import DocumentDefinitions

        name = GroupVersion.parse(api_version).path.removeprefix("/")
        body = await self._body(name)
        known = self._definitions.get(name)
        # Parsing takes much longer than the comparison of equal bytes.
        if known is not None and known[0] == body:
            return known[1]
        try:
            found = DocumentDefinitions.read(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(str(error), kind="OpenAPI document", subject=name) from None
        self._definitions[name] = (body, found)
        return found

    async def _body(self, name: str) -> bytes:
        # One flight per document: concurrent callers share a request of several megabytes.
        if name not in self._fetching:
            self._fetching[name] = SingleFlight(lambda: self._fetch(name))
        return (await self._fetching[name].run()).body

    async def _read_index(self) -> dict[str, str]:
        # The index is JSON, but kube-apiserver sends it as text/plain.
        found = await self._documents.get(_INDEX, accept="*/*")
        try:
            entries = typeinfo.decode_json(found.body, _OpenApiIndex).paths or {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(str(error), kind="OpenAPI index") from None
        return {name: entry.address for name, entry in entries.items()}

    async def _fetch(self, name: str) -> DiscoveryDocument:
        try:
            return await self._at(name, await self._index.run())
        except StatusError as error:
            if error.code not in _MOVED:
                raise
        # The document changed after the index was fetched.
        return await self._at(name, await self._index.run(after_now=True))

    async def _at(self, name: str, index: dict[str, str]) -> DiscoveryDocument:
        address = index.get(name)
        if address is None:
            near = difflib.get_close_matches(name, sorted(index), n=3)
            hint = f"the nearest: {', '.join(near)}" if near else "see client.discovery.openapi_paths()"
            raise UnknownKindError(
                f"the server has no OpenAPI document for {name}; {hint}. "
                "The document of a new custom resource appears some seconds after its definition."
            )
        parts = urlsplit(address)
        # A hostile index must not make us send credentials elsewhere.
        if parts.scheme or parts.netloc or not parts.path.startswith("/"):
            raise DecodeError("a URL in it points to another server", kind="OpenAPI index", path=name)
        # Without a hash in the URL, the document is revalidated by its ETag.
        version = address if parts.query else ""
        return await self._documents.get(parts.path, query=parse_qsl(parts.query), version=version)


def _plain(body: bytes, name: str) -> dict[str, JSON]:
    try:
        found: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(str(error), kind="OpenAPI document", subject=name) from None
    if not isinstance(found, dict):
        raise DecodeError("expected an object", kind="OpenAPI document", subject=name)
    return cast("dict[str, JSON]", found)
