"""The schemas of an OpenAPI v3 document, by their names and by the kinds that they describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from masthead._meta import typeinfo
from masthead._schema.schema import Definitions, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.gvk import GroupVersionKind

__all__ = ["DocumentDefinitions"]


class _Components(msgspec.Struct):
    schemas: dict[str, Schema] = {}


class _Document(msgspec.Struct):
    components: _Components = msgspec.field(default_factory=_Components)


class DocumentDefinitions(Definitions):
    """The schemas of one document, which has all that they refer to.

    Args:
        schemas: The schemas by their full names.
    """

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        super().__init__(schemas)
        self._kinds = {gvk: schema for schema in schemas.values() for gvk in schema.kinds}

    @classmethod
    def read(cls, body: bytes) -> DocumentDefinitions:
        """Read the schemas of a document; the rest of it is skipped.

        Raises:
            msgspec.DecodeError: If it is not JSON, or a schema is malformed.
            UnicodeDecodeError: If it is not UTF-8.
            RecursionError: If it is nested too deeply.
        """
        return cls(typeinfo.decode_json(body, _Document).components.schemas)

    def of_kind(self, gvk: GroupVersionKind) -> Schema | None:
        """Return the schema of a kind; None if the document has none."""
        return self._kinds.get(gvk)
