"""Operations of OpenAPI: parameters, bodies and responses, in the form of kube-apiserver."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from masthead._schema.openapi import REF_PREFIX_V2
from masthead._schema.schema import REF_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead._meta.gvk import GroupVersionKind

__all__ = [
    "ANY_TYPE",
    "DELETE_MANY_PARAMETERS",
    "DELETE_PARAMETERS",
    "LIST_PARAMETERS",
    "LOG_PARAMETERS",
    "PATCH_PARAMETERS",
    "READ_PARAMETERS",
    "WRITE_PARAMETERS",
    "Operation",
    "PathItem",
    "identifier",
    "reference",
]

Json = dict[str, Any]

_TYPES: Final[Mapping[str, str]] = {
    "allowWatchBookmarks": "boolean",
    "follow": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "insecureSkipTLSVerifyBackend": "boolean",
    "limit": "integer",
    "limitBytes": "integer",
    "orphanDependents": "boolean",
    "ports": "integer",
    "previous": "boolean",
    "sendInitialEvents": "boolean",
    "sinceSeconds": "integer",
    "stderr": "boolean",
    "stdin": "boolean",
    "stdout": "boolean",
    "tailLines": "integer",
    "timeoutSeconds": "integer",
    "timestamps": "boolean",
    "tty": "boolean",
    "watch": "boolean",
}
"""The types of parameters that are no strings."""
LIST_PARAMETERS: Final = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
)
READ_PARAMETERS: Final = ("pretty",)
WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation", "pretty")
PATCH_PARAMETERS: Final = (*WRITE_PARAMETERS, "force")
DELETE_PARAMETERS: Final = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
)
DELETE_MANY_PARAMETERS: Final = (
    *DELETE_PARAMETERS,
    *(parameter for parameter in LIST_PARAMETERS if parameter not in {"allowWatchBookmarks", "pretty", "watch"}),
)
LOG_PARAMETERS: Final = (
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "pretty",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
)
ANY_TYPE: Final = ("*/*",)
_TEXT: Final[Json] = {"type": "string"}
_PHRASES: Final[Mapping[int, str]] = {200: "OK", 201: "Created", 202: "Accepted"}
_UNAUTHORIZED: Final[Json] = {"401": {"description": "Unauthorized"}}
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of a path.

    Attributes:
        identifier: Its ``operationId``.
        tag: The group-version, as in the identifier.
        action: The verb; empty for discovery.
        kind: The kind that it is about.
        parameters: The names of its parameters in the query.
        consumes: The media types of bodies.
        body: The name of the body's schema; empty for no body.
        is_body_required: Whether it needs a body.
        produces: The media types of responses.
        result: The name of the schema of responses; empty for text.
        codes: The status codes of success.
    """

    identifier: str
    tag: str
    action: str = ""
    kind: GroupVersionKind | None = None
    parameters: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ANY_TYPE
    body: str = ""
    is_body_required: bool = True
    produces: tuple[str, ...] = ANY_TYPE
    result: str = ""
    codes: tuple[int, ...] = (200,)

    def plain(self, lifted: frozenset[str]) -> Json:
        """Return the operation in OpenAPI v3.

        Args:
            lifted: The parameters that the path lists for all of its operations.
        """
        found: Json = {"tags": [self.tag], "operationId": self.identifier}
        if own := sorted(set(self.parameters) - lifted):
            found["parameters"] = [_query_parameter(parameter) for parameter in own]
        if self.body:
            found["requestBody"] = self._request_body()
        content = _content(self.produces, reference(self.result) if self.result else _TEXT)
        found["responses"] = {
            **{str(code): {"description": _PHRASES[code], "content": content} for code in self.codes},
            **_UNAUTHORIZED,
        }
        return found | self._extensions()

    def plain_in_version_2(self, lifted: frozenset[str]) -> Json:
        """Return the operation in OpenAPI v2.

        Args:
            lifted: The parameters that the path lists for all of its operations.
        """
        found: Json = {
            "consumes": list(self.consumes),
            "produces": list(self.produces),
            "schemes": ["https"],
            "tags": [self.tag],
            "operationId": self.identifier,
        }
        parameters = [_query_parameter_in_version_2(parameter) for parameter in set(self.parameters) - lifted]
        if self.body:
            parameters.append(self._body_parameter())
        if parameters:
            found["parameters"] = sorted(parameters, key=_parameter_order)
        schema = {"$ref": REF_PREFIX_V2 + self.result} if self.result else _TEXT
        found["responses"] = {
            **{str(code): {"description": _PHRASES[code], "schema": schema} for code in self.codes},
            **_UNAUTHORIZED,
        }
        return found | self._extensions()

    def _request_body(self) -> Json:
        content = _content(self.consumes, reference(self.body))
        return {"content": content, "required": True} if self.is_body_required else {"content": content}

    def _body_parameter(self) -> Json:
        schema = {"$ref": REF_PREFIX_V2 + self.body}
        required = {"required": True} if self.is_body_required else {}
        return {"name": "body", "in": "body", **required, "schema": schema}

    def _extensions(self) -> Json:
        found: Json = {}
        if self.action:
            found["x-kubernetes-action"] = self.action
        if self.kind is not None:
            gvk = self.kind
            found["x-kubernetes-group-version-kind"] = {
                "group": gvk.group,
                "version": gvk.version,
                "kind": gvk.kind,
            }
        return found


@dataclass(frozen=True, slots=True)
class PathItem:
    """The operations of a path.

    Attributes:
        operations: By their methods, in lower case.
        variables: The variables of the path.
    """

    operations: Mapping[str, Operation]
    variables: tuple[str, ...] = ()

    def schemas(self) -> Iterator[str]:
        """Yield the names of the schemas of bodies and responses."""
        for operation in self.operations.values():
            yield from filter(None, (operation.body, operation.result))

    def plain(self) -> Json:
        """Return the path in OpenAPI v3; parameters that all operations have in common are listed at the path."""
        lifted = self._find_shared_parameters()
        item: Json = {method: each.plain(lifted) for method, each in self._sort_operations()}
        shared = [_path_parameter(variable) for variable in self.variables]
        shared += [_query_parameter(parameter) for parameter in lifted]
        if shared:
            item["parameters"] = sorted(shared, key=_parameter_order)
        return item

    def plain_in_version_2(self) -> Json:
        """Return the path in OpenAPI v2."""
        lifted = self._find_shared_parameters()
        item: Json = {method: each.plain_in_version_2(lifted) for method, each in self._sort_operations()}
        shared = [_path_parameter_in_version_2(variable) for variable in self.variables]
        shared += [_query_parameter_in_version_2(parameter) for parameter in lifted]
        if shared:
            item["parameters"] = sorted(shared, key=_parameter_order)
        return item

    def _sort_operations(self) -> Iterator[tuple[str, Operation]]:
        return ((method, self.operations[method]) for method in _METHODS if method in self.operations)

    def _find_shared_parameters(self) -> frozenset[str]:
        return frozenset[str].intersection(*(frozenset(operation.parameters) for operation in self.operations.values()))


def reference(name: str) -> Json:
    """Return a reference to a schema."""
    return {"$ref": REF_PREFIX + name}


def identifier(text: str, *, is_capital: bool) -> str:
    """Return text in camel case, as a part of an operation's identifier.

    Args:
        text: A group, a version or the rest of an identifier.
        is_capital: Whether the first letter becomes a capital.
    """
    parts: list[str] = []
    for index, each in enumerate(text):
        if each.isalpha() or each == "_" or (index and each.isdigit()):
            parts.append(each.upper() if is_capital else each)
            is_capital = False
        else:
            is_capital = True
    return "".join(parts)


def _content(media_types: tuple[str, ...], schema: Json) -> Json:
    return {media_type: {"schema": schema} for media_type in media_types}


def _parameter_order(parameter: Json) -> tuple[str, str]:
    return parameter["name"], parameter["in"]


@functools.cache
def _query_parameter(name: str) -> Json:
    return {"name": name, "in": "query", "schema": _value(name)}


@functools.cache
def _path_parameter(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": _value(name)}


@functools.cache
def _query_parameter_in_version_2(name: str) -> Json:
    return {**_value(name), "name": name, "in": "query"}


@functools.cache
def _path_parameter_in_version_2(name: str) -> Json:
    return {**_value(name), "name": name, "in": "path", "required": True}


def _value(name: str) -> Json:
    return {"type": _TYPES.get(name, "string"), "uniqueItems": True}
