"""The paths of a group-version in OpenAPI v3, made from the resources that the server serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.openapi.operations import (
    ANY_TYPE,
    DELETE_MANY_PARAMETERS,
    DELETE_PARAMETERS,
    LIST_PARAMETERS,
    LOG_PARAMETERS,
    PATCH_PARAMETERS,
    STRING,
    WRITE_PARAMETERS,
    Json,
    Operation,
    identifier,
    path_item,
    reference,
)
from masthead._server.wire.request import (
    JSON_PATCH_TYPE,
    JSON_TYPE,
    MERGE_PATCH_TYPE,
    PROTOBUF_TYPE,
    YAML_TYPE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from masthead._meta.gvk import GroupVersion, GroupVersionKind
    from masthead._meta.resource import Subresource
    from masthead._server.resources.resource import ServedResource

__all__ = ["META", "discovery_item", "paths_of"]

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
"""What precedes the names of the schemas of meta/v1."""
_APPLY_TYPE: Final = "application/apply-patch+yaml"
_STRATEGIC_TYPE: Final = "application/strategic-merge-patch+json"
_OWN_TYPES: Final = (JSON_TYPE, PROTOBUF_TYPE, YAML_TYPE)
_CUSTOM_TYPES: Final = (JSON_TYPE, YAML_TYPE)
_STREAM_TYPES: Final = (
    JSON_TYPE,
    f"{JSON_TYPE};stream=watch",
    PROTOBUF_TYPE,
    f"{PROTOBUF_TYPE};stream=watch",
    YAML_TYPE,
)
_CUSTOM_PATCH_TYPES: Final = (_APPLY_TYPE, JSON_PATCH_TYPE, MERGE_PATCH_TYPE)
_OWN_PATCH_TYPES: Final = (*_CUSTOM_PATCH_TYPES, _STRATEGIC_TYPE)
_PRETTY: Final = ("pretty",)
_NAMESPACES: Final = "namespaces/{namespace}"
_CONNECT_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "NodeProxyOptions": ("path",),
    "PodAttachOptions": ("container", "stderr", "stdin", "stdout", "tty"),
    "PodExecOptions": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "PodPortForwardOptions": ("ports",),
    "PodProxyOptions": ("path",),
    "ServiceProxyOptions": ("path",),
}
"""The options of subresources that open a connection, by their kinds."""
_RETURNED_UNSEEN: Final = frozenset({"namespaces"})
"""Resources whose DELETE responds with the object, although documents say that it is a Status."""
_PROXY_METHODS: Final = ("delete", "get", "head", "options", "patch", "post", "put")
_CONNECT_METHODS: Final = ("get", "post")


def paths_of(
    group_version: GroupVersion,
    resources: Iterable[ServedResource],
    name_of: Callable[[GroupVersionKind], str],
) -> dict[str, Json]:
    """Return the paths of a group-version, sorted.

    Args:
        group_version: The group-version.
        resources: Its resources.
        name_of: Returns the name of the schema of a kind, or of a kind of lists.
    """
    found: dict[str, Json] = {}
    is_custom = False
    for served in resources:
        is_custom = served.is_custom
        found |= _ResourcePaths(group_version, served, name_of).all()
    if not is_custom:
        found[f"{group_version.path}/"] = discovery_item(
            group_version.path, "getAPIResources", f"{META}APIResourceList"
        )
    return dict(sorted(found.items()))


def discovery_item(path: str, operation: str, schema: str) -> Json:
    """Return a path that is read for discovery.

    Args:
        path: The path.
        operation: What the operation is called, beginning with a verb.
        schema: The name of the schema of the response.
    """
    name, tag = _identify(operation, path)
    return path_item({"get": Operation(name, tag, reference(schema), _OWN_TYPES)})


def _identify(operation: str, path: str) -> tuple[str, str]:
    """Return the identifier and the tag of an operation: group and version follow the verb."""
    verb = next(each for each in _VERBS if operation.startswith(each))
    rest = operation.removeprefix(verb)
    steps = path.strip("/").split("/")
    steps = ["core", *steps[1:2]] if steps[0] == "api" else steps[1:3]
    if not steps:
        return operation, "apis"
    group = steps[0].removesuffix(".k8s.io")
    parts = [group, *steps[1:]]
    middle = "".join(identifier(each, is_capital=True) for each in parts)
    tag = "_".join(identifier(each, is_capital=False) for each in parts)
    return f"{verb}{middle}{identifier(rest, is_capital=True)}", tag


_VERBS: Final = ("get", "read", "replace", "patch", "delete", "watch", "connect", "list", "create")


class _ResourcePaths:
    """The paths of one resource."""

    def __init__(
        self, group_version: GroupVersion, served: ServedResource, name_of: Callable[[GroupVersionKind], str]
    ) -> None:
        self._served = served
        self._name_of = name_of
        self._root = group_version.path
        self._noun = f"{'Namespaced' if served.is_namespaced else ''}{served.kind}"
        """What identifiers call an object."""
        self._types = _CUSTOM_TYPES if served.is_custom else _OWN_TYPES
        self._list_types = _CUSTOM_TYPES if served.is_custom else _STREAM_TYPES
        self._body_types = _CUSTOM_TYPES if served.is_custom else ANY_TYPE

    def all(self) -> dict[str, Json]:
        """Return the items by their paths."""
        served = self._served
        inside = f"{_NAMESPACES}/{served.name}" if served.is_namespaced else served.name
        found = {inside: self._of_collection(), f"{inside}/{{name}}": self._of_object()}
        if served.is_namespaced and "list" in served.verbs:
            found[served.name] = {"get": self._list(f"list{served.kind}ForAllNamespaces")}
        # Custom resources have no paths below ``watch``, which are deprecated.
        if "watch" in served.verbs and not served.is_custom:
            found |= self._watches(inside)
        for part in served.resource.subresources:
            found |= self._of_subresource(f"{inside}/{{name}}/{part.name}", part)
        return {
            f"{self._root}/{path}": path_item(operations, _variables(path))
            for path, operations in found.items()
            if operations
        }

    def _of_collection(self) -> dict[str, Operation]:
        verbs, found = self._served.verbs, dict[str, Operation]()
        if "list" in verbs:
            found["get"] = self._list(f"list{self._noun}")
        if "create" in verbs:
            found["post"] = self._create(f"create{self._noun}", self._served.gvk)
        if "deletecollection" in verbs:
            found["delete"] = Operation(
                *self._names(f"deleteCollection{self._noun}"),
                reference(f"{META}Status"),
                self._types,
                action="deletecollection",
                kind=self._served.gvk,
                parameters=(*DELETE_MANY_PARAMETERS, *_PRETTY),
                body=f"{META}DeleteOptions",
                body_types=self._body_types,
                is_body_required=False,
            )
        return found

    def _of_object(self) -> dict[str, Operation]:
        served = self._served
        found = self._reads_and_updates(self._noun, served.verbs, served.gvk)
        if "delete" in served.verbs:
            is_returned = served.strategy.returns_deleted and served.table not in _RETURNED_UNSEEN
            returned = self._name_of(served.gvk) if is_returned else f"{META}Status"
            found["delete"] = Operation(
                *self._names(f"delete{self._noun}"),
                reference(returned),
                self._types,
                action="delete",
                kind=served.gvk,
                parameters=(*DELETE_PARAMETERS, *_PRETTY),
                body=f"{META}DeleteOptions",
                body_types=self._body_types,
                is_body_required=False,
                codes=(200, 202),
            )
        return found

    def _of_subresource(self, path: str, part: Subresource) -> dict[str, dict[str, Operation]]:
        noun = f"{self._noun}{part.name.capitalize()}"
        if part.kind.kind in _CONNECT_PARAMETERS:
            return self._connections(path, noun, part)
        if part.name == "log":
            return {path: {"get": self._log(noun)}}
        found = self._reads_and_updates(noun, frozenset(part.verbs), part.kind)
        if "create" in part.verbs:
            found["post"] = self._create(f"create{noun}", part.kind)
        return {path: found}

    def _reads_and_updates(
        self, noun: str, verbs: frozenset[str], kind: GroupVersionKind
    ) -> dict[str, Operation]:
        found: dict[str, Operation] = {}
        schema = self._name_of(kind)
        if "get" in verbs:
            found["get"] = Operation(
                *self._names(f"read{noun}"),
                reference(schema),
                self._types,
                action="get",
                kind=kind,
                parameters=("resourceVersion", *_PRETTY) if self._served.is_custom else _PRETTY,
            )
        if "update" in verbs:
            found["put"] = Operation(
                *self._names(f"replace{noun}"),
                reference(schema),
                self._types,
                action="put",
                kind=kind,
                parameters=(*WRITE_PARAMETERS, *_PRETTY),
                body=schema,
                body_types=self._body_types,
                codes=(200, 201),
            )
        if "patch" in verbs:
            found["patch"] = self._patch(noun, kind)
        return found

    def _patch(self, noun: str, kind: GroupVersionKind) -> Operation:
        is_custom = self._served.is_custom
        return Operation(
            *self._names(f"patch{noun}"),
            reference(self._name_of(kind)),
            self._types,
            action="patch",
            kind=kind,
            parameters=(*PATCH_PARAMETERS, *_PRETTY),
            body=f"{META}Patch",
            body_types=_CUSTOM_PATCH_TYPES if is_custom else _OWN_PATCH_TYPES,
            # An apply creates objects; documents of custom resources do not say so.
            codes=(200,) if is_custom else (200, 201),
        )

    def _create(self, name: str, kind: GroupVersionKind) -> Operation:
        schema = self._name_of(kind)
        return Operation(
            *self._names(name),
            reference(schema),
            self._types,
            action="post",
            kind=kind,
            parameters=(*WRITE_PARAMETERS, *_PRETTY),
            body=schema,
            body_types=self._body_types,
            codes=(200, 201, 202),
        )

    def _list(self, name: str) -> Operation:
        gvk = self._served.gvk
        return Operation(
            *self._names(name),
            reference(self._name_of(gvk.group_version.kind(f"{gvk.kind}List"))),
            self._list_types,
            action="list",
            kind=gvk,
            parameters=(*LIST_PARAMETERS, *_PRETTY),
        )

    def _watches(self, inside: str) -> dict[str, dict[str, Operation]]:
        served = self._served
        found = {f"watch/{inside}": {"get": self._watch(f"watch{self._noun}List", "watchlist")}}
        if "get" in served.verbs:
            found[f"watch/{inside}/{{name}}"] = {"get": self._watch(f"watch{self._noun}", "watch")}
        if served.is_namespaced:
            everywhere = self._watch(f"watch{served.kind}ListForAllNamespaces", "watchlist")
            found[f"watch/{served.name}"] = {"get": everywhere}
        return found

    def _watch(self, name: str, action: str) -> Operation:
        return Operation(
            *self._names(name),
            reference(f"{META}WatchEvent"),
            _STREAM_TYPES,
            action=action,
            kind=self._served.gvk,
            parameters=(*LIST_PARAMETERS, *_PRETTY),
        )

    def _log(self, noun: str) -> Operation:
        return Operation(
            *self._names(f"read{noun}"),
            STRING,
            (*_OWN_TYPES, "text/plain"),
            action="get",
            kind=self._served.gvk,
            parameters=(*LOG_PARAMETERS, *_PRETTY),
        )

    def _connections(self, path: str, noun: str, part: Subresource) -> dict[str, dict[str, Operation]]:
        """Return the methods of a subresource that opens a connection; a proxy has paths below its own, too."""
        is_proxy = part.name == "proxy"
        suffixes = {"": "", "/{path}": "WithPath"} if is_proxy else {"": ""}
        return {
            path + below: {
                method: Operation(
                    *self._names(f"connect{method.capitalize()}{noun}{suffix}"),
                    STRING,
                    ANY_TYPE,
                    action="connect",
                    kind=part.kind,
                    parameters=_CONNECT_PARAMETERS[part.kind.kind],
                )
                for method in (_PROXY_METHODS if is_proxy else _CONNECT_METHODS)
            }
            for below, suffix in suffixes.items()
        }

    def _names(self, operation: str) -> tuple[str, str]:
        return _identify(operation, self._root)


def _variables(path: str) -> list[str]:
    """Return the variables of a path."""
    return [each[1:-1] for each in path.split("/") if each.startswith("{")]
