"""The document of OpenAPI v2, which describes the whole API of a server.

With many custom resources it is large. So each path and definition is encoded separately: plain data of all of them
would keep the garbage collector busy, and other threads wait while a single piece is encoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from masthead._schema.openapi import to_version_2
from masthead._schema.schema import Schema
from masthead_server.openapi.documents import INFO, SECURITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.openapi.operations import Json, PathItem

__all__ = ["HEAD", "JSON_SWAGGER", "JsonSwagger", "SwaggerEncoding", "definition_of"]

_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_OWN_FORM: Final[Mapping[str, Schema]] = {
    f"{_MACHINERY}api.resource.Quantity": Schema(type="string"),
    f"{_MACHINERY}util.intstr.IntOrString": Schema(type="string", format="int-or-string"),
}
"""Types that are alternatives of two others, which version 2 cannot express."""
HEAD: Final[Json] = {
    "swagger": "2.0",
    "info": INFO,
    "securityDefinitions": SECURITY,
    "security": [{"BearerToken": []}],
}
"""The parts of every document other than paths and definitions."""

_encode: Final = msgspec.json.Encoder().encode


def definition_of(name: str, schema: Schema) -> Schema:
    """Return the definition of a type of Kubernetes' own.

    Args:
        name: The full name of the type.
        schema: Its schema in version 3.
    """
    # Version 2 has no alternatives: a few types have a fixed form there.
    return _OWN_FORM.get(name) or to_version_2(schema)


class SwaggerEncoding(Protocol):
    """Encodes a document piece by piece."""

    def path(self, item: PathItem) -> bytes:
        """Encode a path."""
        ...

    def definition(self, schema: Schema) -> bytes:
        """Encode a schema of version 2."""
        ...

    def document(self, paths: Mapping[str, bytes], definitions: Mapping[str, bytes]) -> bytes:
        """Encode the document from its encoded paths and definitions, in their order."""
        ...


class JsonSwagger:
    """The document in JSON."""

    def path(self, item: PathItem) -> bytes:
        """Encode a path."""
        return _encode(item.plain_in_version_2())

    def definition(self, schema: Schema) -> bytes:
        """Encode a schema of version 2."""
        return _encode(schema)

    def document(self, paths: Mapping[str, bytes], definitions: Mapping[str, bytes]) -> bytes:
        """Encode the document from its encoded paths and definitions, in their order."""
        # Joined from encoded pieces, which are far smaller than the plain data of all of them.
        head = _encode(HEAD).removesuffix(b"}")
        return b"".join(
            (head, b',"paths":', _join_members(paths), b',"definitions":', _join_members(definitions), b"}")
        )


JSON_SWAGGER: Final = JsonSwagger()


def _join_members(members: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(_encode(key) + b":" + value for key, value in members.items()) + b"}"
