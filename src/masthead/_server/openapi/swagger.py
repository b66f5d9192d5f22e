"""The document of OpenAPI v2, which describes all that a server serves at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead._schema.openapi import to_version_2
from masthead._schema.schema import Schema
from masthead._server.openapi.documents import INFO, SECURITY, needed_schemas, with_shared_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._meta.gvk import GroupVersion
    from masthead._schema.schema import Definitions
    from masthead._server.openapi.operations import Json, PathItem

__all__ = ["swagger_of"]

_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_OWN_FORM: Final[Mapping[str, Schema]] = {
    f"{_MACHINERY}api.resource.Quantity": Schema(type="string"),
    f"{_MACHINERY}util.intstr.IntOrString": Schema(type="string", format="int-or-string"),
}
"""Types that are alternatives of two others, which version 2 cannot express."""


def swagger_of(
    paths: Mapping[str, PathItem],
    definitions: Definitions,
    group_versions: Iterable[GroupVersion],
    own: Mapping[str, Schema] | None = None,
) -> Json:
    """Return the document as plain data.

    Args:
        paths: All paths of the server.
        definitions: Where the schemas of version 3 are looked up.
        group_versions: Those that the kinds of options and events are listed for.
        own: Schemas that version 2 has in another form.

    Raises:
        KeyError: If there is no schema for a reference.
    """
    special = {**_OWN_FORM, **(own or {})}
    needed = with_shared_kinds(needed_schemas(paths.values(), definitions), group_versions)
    schemas = {name: special.get(name) or to_version_2(schema) for name, schema in needed.items()}
    plain: dict[str, Any] = msgspec.to_builtins(schemas)
    return {
        "swagger": "2.0",
        "info": INFO,
        "paths": {path: paths[path].plain_in_version_2() for path in sorted(paths)},
        "definitions": plain,
        "securityDefinitions": SECURITY,
        "security": [{"BearerToken": []}],
    }
