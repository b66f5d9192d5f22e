"""The schemas of custom resources in OpenAPI documents, made from their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from masthead._schema.builtin.definitions import name_of
from masthead._schema.openapi import custom_list, custom_name, custom_object, custom_object_in_version_2
from masthead._schema.schema import Definitions, Schema
from masthead_server import scheme
from masthead_server.openapi.enums import DOCUMENTED
from masthead_server.openapi.swagger import definition_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersionKind
    from masthead_server.resources.resource import ServedResource

__all__ = ["CustomDefinitions", "schema_name"]


def schema_name(gvk: GroupVersionKind) -> str:
    """Return the full name of the schema of a kind, built-in or custom."""
    if scheme.is_registered(gvk):
        return name_of(cast("ApiType", scheme.object_class(gvk)))
    return custom_name(gvk)


class CustomDefinitions(Definitions):
    """The schemas of custom resources and of their lists, in addition to those of Kubernetes' own types.

    Args:
        resources: The resources; built-in ones are ignored.
    """

    def __init__(self, resources: Iterable[ServedResource]) -> None:
        self._resources: dict[str, ServedResource] = {}
        own: dict[str, Schema] = {}
        for served in resources:
            # Kubernetes' own types come from `DOCUMENTED`.
            if not served.is_custom:
                continue
            gvk = served.gvk
            self._resources[custom_name(gvk)] = served
            own[custom_name(gvk)] = _object(served)
            list_gvk = gvk.group_version.kind(served.list_kind)
            of_lists = custom_list(gvk, served.list_kind)
            own[custom_name(list_gvk)] = _with_selectable_fields(of_lists, served)
        super().__init__(own)

    def get(self, name: str) -> Schema | None:
        """Return the schema of a full name; None if it does not exist."""
        return super().get(name) or DOCUMENTED.get(name)

    def definition(self, name: str, schema: Schema) -> Schema:
        """Return the form of a schema in OpenAPI v2.

        Args:
            name: Its full name.
            schema: Its form in version 3.
        """
        served = self._resources.get(name)
        return definition_of(name, schema) if served is None else _object_in_version_2(served)


def _object(served: ServedResource) -> Schema:
    return _with_selectable_fields(custom_object(_schema(served), served.gvk), served)


def _object_in_version_2(served: ServedResource) -> Schema:
    return _with_selectable_fields(custom_object_in_version_2(_schema(served), served.gvk), served)


def _schema(served: ServedResource) -> Schema | None:
    definition = served.definition
    # A schema without any rule is left out, as kube-apiserver does.
    return definition.schema if definition is not None and definition.schema != Schema() else None


def _with_selectable_fields(schema: Schema, served: ServedResource) -> Schema:
    paths = served.definition.selectable_paths if served.definition is not None else []
    fields = tuple({"fieldPath": path.removeprefix(".")} for path in paths)
    return replace(schema, selectable_fields=fields)
