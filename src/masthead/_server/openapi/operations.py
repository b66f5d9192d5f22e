"""Operations of OpenAPI v3: parameters, bodies and responses, in the form of kube-apiserver."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from masthead._schema.schema import REF_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._meta.gvk import GroupVersionKind

__all__ = [
    "ANY_TYPE",
    "DELETE_MANY_PARAMETERS",
    "DELETE_PARAMETERS",
    "LIST_PARAMETERS",
    "LOG_PARAMETERS",
    "PATCH_PARAMETERS",
    "STRING",
    "WRITE_PARAMETERS",
    "Operation",
    "identifier",
    "path_item",
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
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
)
WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")
PATCH_PARAMETERS: Final = (*WRITE_PARAMETERS, "force")
DELETE_PARAMETERS: Final = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
DELETE_MANY_PARAMETERS: Final = (
    *DELETE_PARAMETERS,
    *(each for each in LIST_PARAMETERS if each not in {"allowWatchBookmarks", "watch"}),
)
LOG_PARAMETERS: Final = (
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
)
ANY_TYPE: Final = ("*/*",)
STRING: Final[Json] = {"type": "string"}
_PHRASES: Final[Mapping[int, str]] = {200: "OK", 201: "Created", 202: "Accepted"}
_UNAUTHORIZED: Final[Json] = {"401": {"description": "Unauthorized"}}
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of a path.

    Attributes:
        identifier: Its ``operationId``.
        tag: The group-version, as in the identifier.
        action: The verb; empty for discovery.
        kind: The kind that it is about.
        parameters: The names of its parameters in the query.
        body: The name of the body's schema; empty for no body.
        body_types: The media types of the body.
        is_body_required: Whether it needs a body.
        result: The schema of the response.
        result_types: The media types of the response.
        codes: The status codes of success.
    """

    identifier: str
    tag: str
    result: Json
    result_types: tuple[str, ...]
    action: str = ""
    kind: GroupVersionKind | None = None
    parameters: tuple[str, ...] = ()
    body: str = ""
    body_types: tuple[str, ...] = ()
    is_body_required: bool = True
    codes: tuple[int, ...] = field(default=(200,))

    def plain(self, lifted: frozenset[str]) -> Json:
        """Return it as plain data.

        Args:
            lifted: The parameters that stand at the path.
        """
        found: Json = {"tags": [self.tag], "operationId": self.identifier}
        if own := sorted(set(self.parameters) - lifted):
            found["parameters"] = [_query_parameter(each) for each in own]
        if self.body:
            found["requestBody"] = self._request_body()
        found["responses"] = {
            **{str(code): self._response(code) for code in self.codes},
            **_UNAUTHORIZED,
        }
        if self.action:
            found["x-kubernetes-action"] = self.action
        if self.kind is not None:
            found["x-kubernetes-group-version-kind"] = _plain_kind(self.kind)
        return found

    def _request_body(self) -> Json:
        content = _content(self.body_types, reference(self.body))
        return {"content": content, "required": True} if self.is_body_required else {"content": content}

    def _response(self, code: int) -> Json:
        return {"description": _PHRASES[code], "content": _content(self.result_types, self.result)}


def path_item(operations: Mapping[str, Operation], variables: Iterable[str] = ()) -> Json:
    """Return the operations of a path by their methods; parameters that all of them have stand at the path.

    Args:
        operations: The operations by their methods, in lower case.
        variables: The variables of the path.
    """
    lifted = frozenset[str].intersection(*(frozenset(each.parameters) for each in operations.values()))
    shared = [_path_parameter(each) for each in variables] + [_query_parameter(each) for each in lifted]
    item: Json = {method: operations[method].plain(lifted) for method in _METHODS if method in operations}
    if shared:
        item["parameters"] = sorted(shared, key=lambda each: (each["name"], each["in"]))
    return item


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
    return {each: {"schema": schema} for each in media_types}


@functools.cache
def _query_parameter(name: str) -> Json:
    schema = {"type": _TYPES.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": "query", "schema": schema}


@functools.cache
def _path_parameter(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}


def _plain_kind(gvk: GroupVersionKind) -> Json:
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
