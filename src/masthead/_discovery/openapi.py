"""The schemas of what is served, as OpenAPI v3: an index, and one document for each group and version."""

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

__all__ = ["OpenApi"]

_INDEX: Final = "/openapi/v3"
_MOVED: Final = frozenset({301, 302, 307, 308, 404})
"""How a server says that an address is out of date."""


class _OpenApiIndexEntry(msgspec.Struct):
    address: str = msgspec.field(name="serverRelativeURL")


class _OpenApiIndex(msgspec.Struct):
    paths: dict[str, _OpenApiIndexEntry] | None = None


class OpenApi:
    """Reads the schemas.

    An address in the index names the state of its document, so that a document is fetched anew only when it changed.
    """

    def __init__(self, documents: DocumentCache) -> None:
        """Fetch through `documents`, which keeps them."""
        self._documents = documents
        self._index = SingleFlight(self._read_index)
        self._fetching: dict[str, SingleFlight[DiscoveryDocument]] = {}

    async def paths(self) -> dict[str, str]:
        """Where each document is, by what it is about: ``apis/apps/v1``.

        Raises:
            DecodeError: if the index is none.
            MastheadError: as `RestClient.call` does.
        """
        return dict(await self._index.run())

    async def document(self, api_version: str) -> dict[str, JSON]:
        """The document of a group and version.

        Raises:
            InvalidValueError: if that is no API version.
            UnknownKindError: if the server has none for it.
            DecodeError: if what comes is no document.
            MastheadError: as `RestClient.call` does.
        """
        name = GroupVersion.parse(api_version).path.removeprefix("/")
        if name not in self._fetching:
            self._fetching[name] = SingleFlight(lambda: self._fetch(name))
        return _plain((await self._fetching[name].run()).body, name)

    async def _read_index(self) -> dict[str, str]:
        # The index is JSON, but kube-apiserver calls it text/plain.
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
        # It changed between the index and now.
        return await self._at(name, await self._index.run(after_now=True))

    async def _at(self, name: str, index: dict[str, str]) -> DiscoveryDocument:
        address = index.get(name)
        if address is None:
            near = difflib.get_close_matches(name, sorted(index), n=3)
            hint = f"the nearest: {', '.join(near)}" if near else "see client.discovery.openapi_paths()"
            raise UnknownKindError(
                f"the server has no OpenAPI document for {name}; {hint}. "
                "Those of new custom resources come some seconds after their definition."
            )
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or not parts.path.startswith("/"):
            raise DecodeError("an address in it leads to another server", kind="OpenAPI index", path=name)
        # Without a hash, the address says nothing about the state, and the document's ETag has to.
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
