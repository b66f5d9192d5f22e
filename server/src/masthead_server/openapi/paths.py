"""The paths of a group-version in OpenAPI, made from the resources that the server serves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead_server.openapi.operations import (
    ANY_TYPE,
    DELETE_MANY_PARAMETERS,
    DELETE_PARAMETERS,
    LIST_PARAMETERS,
    LOG_PARAMETERS,
    PATCH_PARAMETERS,
    READ_PARAMETERS,
    WRITE_PARAMETERS,
    Operation,
    PathItem,
    identifier,
)
from masthead_server.wire.request import (
    APPLY_PATCH_TYPE,
    JSON_PATCH_TYPE,
    JSON_TYPE,
    MERGE_PATCH_TYPE,
    PROTOBUF_TYPE,
    STRATEGIC_MERGE_PATCH_TYPE,
    YAML_TYPE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from masthead._meta.gvk import GroupVersion, GroupVersionKind
    from masthead._meta.resource import Subresource
    from masthead_server.resources.resource import ServedResource

__all__ = ["META", "discovery_item", "paths_of"]

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
"""What precedes the names of the schemas of meta/v1."""
_CUSTOM_TYPES: Final = (JSON_TYPE, YAML_TYPE)
_OWN_TYPES: Final = (*_CUSTOM_TYPES, PROTOBUF_TYPE)
_STREAM_TYPES: Final = (*_OWN_TYPES, f"{JSON_TYPE};stream=watch", f"{PROTOBUF_TYPE};stream=watch")
_CUSTOM_PATCH_TYPES: Final = (JSON_PATCH_TYPE, MERGE_PATCH_TYPE, APPLY_PATCH_TYPE)
_OWN_PATCH_TYPES: Final = (
    JSON_PATCH_TYPE,
    MERGE_PATCH_TYPE,
    STRATEGIC_MERGE_PATCH_TYPE,
    APPLY_PATCH_TYPE,
)
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
) -> dict[str, PathItem]:
    """Return the paths of a group-version.

    Args:
        group_version: The group-version.
        resources: Its resources.
        name_of: Returns the name of the schema of a kind, or of a kind of lists.
    """
    found: dict[str, PathItem] = {}
    is_custom = False
    for served in resources:
        is_custom = served.is_custom
        found |= _ResourcePaths(group_version, served, name_of).all()
    if not is_custom:
        path = group_version.path
        found[f"{path}/"] = discovery_item(path, "getAPIResources", f"{META}APIResourceList")
    return found


def discovery_item(path: str, operation: str, schema: str) -> PathItem:
    """Return a path that is read for discovery.

    Args:
        path: The path.
        operation: What the operation is called, beginning with a verb.
        schema: The name of the schema of the response.
    """
    name, tag = _identify(operation, path)
    return PathItem(
        {"get": Operation(identifier=name, tag=tag, result=schema, consumes=_OWN_TYPES, produces=_OWN_TYPES)}
    )


def _identify(operation: str, path: str) -> tuple[str, str]:
    """Return the identifier and the tag of an operation: group and version follow the verb."""
    verb = next(prefix for prefix in _VERBS if operation.startswith(prefix))
    rest = operation.removeprefix(verb)
    steps = path.strip("/").split("/")
    steps = ["core", *steps[1:2]] if steps[0] == "api" else steps[1:3]
    if not steps:
        return operation, "apis"
    group = steps[0].removesuffix(".k8s.io")
    parts = [group, *steps[1:]]
    middle = "".join(identifier(part, is_capital=True) for part in parts)
    tag = "_".join(identifier(part, is_capital=False) for part in parts)
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
        self._is_custom = served.is_custom
        self._produces = _CUSTOM_TYPES if served.is_custom else _OWN_TYPES
        self._consumes = _CUSTOM_TYPES if served.is_custom else ANY_TYPE

    def all(self) -> dict[str, PathItem]:
        """Return the items by their paths."""
        served = self._served
        inside = f"{_NAMESPACES}/{served.name}" if served.is_namespaced else served.name
        found = {inside: self._of_collection(), f"{inside}/{{name}}": self._of_object()}
        if served.is_namespaced and "list" in served.verbs:
            found[served.name] = {"get": self._list(f"list{served.kind}ForAllNamespaces")}
        # Custom resources have no paths below ``watch``, which are deprecated.
        if "watch" in served.verbs and not self._is_custom:
            found |= self._watches(inside)
        for part in served.resource.subresources:
            found |= self._of_subresource(f"{inside}/{{name}}/{part.name}", part)
        return {
            f"{self._root}/{path}": PathItem(operations, _variables(path))
            for path, operations in found.items()
            if operations
        }

    def _operation(self, name: str, action: str, kind: GroupVersionKind | None = None) -> Operation:
        """Return an operation without parameters, body and result."""
        identified, tag = _identify(name, self._root)
        return Operation(
            identifier=identified,
            tag=tag,
            action=action,
            kind=self._served.gvk if kind is None or self._is_custom else kind,
            consumes=self._consumes,
            produces=self._produces,
        )

    def _of_collection(self) -> dict[str, Operation]:
        verbs, found = self._served.verbs, dict[str, Operation]()
        if "list" in verbs:
            found["get"] = self._list(f"list{self._noun}")
        if "create" in verbs:
            found["post"] = self._create(f"create{self._noun}", self._served.gvk)
        if "deletecollection" in verbs:
            is_custom = self._is_custom
            found["delete"] = replace(
                self._operation(f"deleteCollection{self._noun}", "deletecollection"),
                # Documents of custom resources have the parameters of lists instead.
                parameters=LIST_PARAMETERS if is_custom else DELETE_MANY_PARAMETERS,
                body="" if is_custom else f"{META}DeleteOptions",
                is_body_required=False,
                result=f"{META}Status",
            )
        return found

    def _of_object(self) -> dict[str, Operation]:
        served = self._served
        found = self._reads_and_updates(self._noun, served.verbs, served.gvk)
        if "delete" in served.verbs:
            is_returned = served.strategy.returns_deleted and served.table not in _RETURNED_UNSEEN
            found["delete"] = replace(
                self._operation(f"delete{self._noun}", "delete"),
                parameters=DELETE_PARAMETERS,
                body=f"{META}DeleteOptions",
                is_body_required=False,
                result=self._name_of(served.gvk) if is_returned else f"{META}Status",
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

    def _reads_and_updates(self, noun: str, verbs: frozenset[str], kind: GroupVersionKind) -> dict[str, Operation]:
        found: dict[str, Operation] = {}
        is_custom = self._is_custom
        schema = self._name_of(kind)
        if "get" in verbs:
            parameters = (*READ_PARAMETERS, "resourceVersion") if is_custom else READ_PARAMETERS
            found["get"] = replace(self._operation(f"read{noun}", "get", kind), parameters=parameters, result=schema)
        if "update" in verbs:
            found["put"] = replace(
                self._operation(f"replace{noun}", "put", kind),
                parameters=WRITE_PARAMETERS,
                body=schema,
                result=schema,
                codes=(200, 201),
            )
        if "patch" in verbs:
            found["patch"] = replace(
                self._operation(f"patch{noun}", "patch", kind),
                parameters=PATCH_PARAMETERS,
                consumes=_CUSTOM_PATCH_TYPES if is_custom else _OWN_PATCH_TYPES,
                body=f"{META}Patch",
                result=schema,
                # An apply creates objects; documents of custom resources do not say so.
                codes=(200,) if is_custom else (200, 201),
            )
        return found

    def _create(self, name: str, kind: GroupVersionKind) -> Operation:
        schema = self._name_of(kind)
        return replace(
            self._operation(name, "post", kind),
            parameters=WRITE_PARAMETERS,
            body=schema,
            result=schema,
            codes=(200, 201, 202),
        )

    def _list(self, name: str) -> Operation:
        gvk = self._served.gvk
        return replace(
            self._operation(name, "list"),
            parameters=LIST_PARAMETERS,
            produces=_CUSTOM_TYPES if self._is_custom else _STREAM_TYPES,
            result=self._name_of(gvk.group_version.kind(self._served.list_kind)),
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
        return replace(
            self._operation(name, action),
            parameters=LIST_PARAMETERS,
            produces=_STREAM_TYPES,
            result=f"{META}WatchEvent",
        )

    def _log(self, noun: str) -> Operation:
        produces = ("text/plain", *_OWN_TYPES)
        return replace(self._operation(f"read{noun}", "get"), parameters=LOG_PARAMETERS, produces=produces)

    def _connections(self, path: str, noun: str, part: Subresource) -> dict[str, dict[str, Operation]]:
        """Return the methods of a subresource that opens a connection; a proxy has paths below its own, too."""
        is_proxy = part.name == "proxy"
        suffixes = {"": "", "/{path}": "WithPath"} if is_proxy else {"": ""}
        return {
            path + below: {
                method: self._connect(f"connect{method.capitalize()}{noun}{suffix}", part.kind)
                for method in (_PROXY_METHODS if is_proxy else _CONNECT_METHODS)
            }
            for below, suffix in suffixes.items()
        }

    def _connect(self, name: str, kind: GroupVersionKind) -> Operation:
        identified, tag = _identify(name, self._root)
        parameters = _CONNECT_PARAMETERS[kind.kind]
        return Operation(identifier=identified, tag=tag, action="connect", kind=kind, parameters=parameters)


def _variables(path: str) -> tuple[str, ...]:
    """Return the variables of a path."""
    return tuple(segment[1:-1] for segment in path.split("/") if segment.startswith("{"))
