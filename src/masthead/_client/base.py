"""The base of every resource client: shared context, request building and object decoding."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET

from masthead._errors.options import explain_options
from masthead._meta import typeinfo
from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._module import set_module
from masthead._rest.call import JSON, Call, Subject
from masthead._rest.paths import resource_path
from masthead._value import Value
from masthead.errors import ArgumentError, DecodeError, NameFormatError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._client.options import FieldValidation, Query
    from masthead._client.resource_target import ResourceTarget
    from masthead._meta.gvk import GroupVersionResource
    from masthead._rest.client import RestClient
    from masthead._rest.response import Response

__all__ = ["BaseResource", "ClientContext", "Defaults", "LazyTarget"]

T = TypeVar("T", bound=Object)
D = TypeVar("D")
P = TypeVar("P")

_METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "apply": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
_OF_ONE_OBJECT: Final = frozenset({"get", "update", "patch", "apply", "delete"})
_WHOLE_COLLECTION: Final = frozenset({"list", "watch", "deletecollection"})
_RETURNS_LIST: Final = frozenset({"list", "deletecollection"})


class Defaults(Value, kw_only=True):
    """A client's defaults for options that a call leaves out.

    Attributes:
        page_size: The limit of each page of a list.
        field_manager: The field manager of writes; empty to leave it to the server.
        field_validation: How the server treats unknown fields; None to leave it to the server.
        check_watch_lists: Compare every watch-list with a plain list of the same resource version.
    """

    page_size: int = 500
    field_manager: str = ""
    field_validation: FieldValidation | None = None
    check_watch_lists: bool = False

    def __post_init__(self) -> None:
        if self.page_size < 1:
            raise ArgumentError(f"page_size is {self.page_size}; it must be at least 1", value=self.page_size)


class ClientContext(Value):
    """What all resource clients of one client share.

    Attributes:
        rest: Sends the requests.
        defaults: The client's defaults.
        without_initial_events: Resources for which the server is known not to support ``sendInitialEvents``.
    """

    rest: RestClient
    defaults: Defaults
    without_initial_events: set[GroupVersionResource] = msgspec.field(default_factory=set["GroupVersionResource"])


class _KindOnly(msgspec.Struct):
    """Enough of a response to tell its kind."""

    kind: str = ""


class LazyTarget(Value, Generic[T]):
    """A resource that is discovered when it is first needed.

    Attributes:
        title: The name the caller used for it, such as ``deploy``.
        find: Looks it up by discovery.
    """

    title: str
    find: Callable[[], Awaitable[ResourceTarget[T]]]


TargetOrLazy: TypeAlias = "ResourceTarget[T] | LazyTarget[T]"


@set_module("masthead.aio.clientset")
class BaseResource(Generic[T]):
    """Builds the calls for one resource and decodes their responses.

    The verbs are in the subclasses.
    """

    _ITEM: ClassVar[type[Object]] = Object
    """The class of objects until a lazy target is resolved; set by subclasses whose objects all have one class."""

    def __init__(self, context: ClientContext, target: TargetOrLazy[T], namespace: str | None) -> None:
        """Create a client for a resource.

        Args:
            context: What all resource clients of one client share.
            target: The resource, or how to discover it when it is first needed.
            namespace: The namespace; None for all namespaces and for cluster-scoped resources.
        """
        self._context = context
        self._found = target
        self._namespace = namespace

    @property
    def namespace(self) -> str | None:
        """The namespace; None for all namespaces and for cluster-scoped resources."""
        return self._namespace

    def __repr__(self) -> str:
        where = "everywhere" if self._namespace is None else f"in {self._namespace!r}"
        found = self._found
        what = f" of {found.title if isinstance(found, LazyTarget) else found.name}"
        return f"<{type(self).__name__}{what} {where}>"

    async def _target(self) -> ResourceTarget[T]:
        found = self._found
        if isinstance(found, LazyTarget):
            # Kept for later calls; two tasks may look it up at the same time, with the same result.
            found = self._found = await found.find()
        return found

    def _parameters(self, cls: Callable[..., P], verb: str, options: Mapping[str, object]) -> P:
        """Build the parameters of a verb from the options of its caller.

        Raises:
            TypeError: If the verb has no such option.
        """
        try:
            return cls(**options)
        except TypeError as error:
            call = f"{_written(self._found)}.{verb}()"
            raise explain_options(error, call, cls, options, partial(_hint, self._found)) from None

    def _build_call(
        self,
        target: ResourceTarget[T],
        verb: str,
        *,
        name: str | None = None,
        about: str = "",
        namespace: str = "",
        subresource: str = "",
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float | None = None,
        read_timeout: float | None = None,
        called: str = "",
    ) -> Call:
        """Build a call. For messages: `about` is an object's name that is not in the path, `called` the user's verb."""
        what = f"{target.name}/{subresource}" if subresource and not called else target.name
        said = called or verb
        # Without the name, the path would be the collection's: a delete would delete all of it.
        if name is None and (subresource or verb in _OF_ONE_OBJECT):
            raise NameFormatError(f"{said} {what}: an object's name is needed, not None. Nothing was sent.", value=name)
        namespace = _namespace_for(target, verb, (said, what), client=self._namespace, obj=namespace, name=name)
        path = resource_path(target.resource, namespace=namespace, name=name, subresource=subresource)
        return Call(
            _METHODS[verb],
            path,
            Subject(said, what, namespace, name or about, target.removal),
            query or (),
            body,
            content_type,
            target.accept_list if verb in _RETURNS_LIST else target.accept,
            timeout=timeout,
            read_timeout=read_timeout,
        )

    async def _get_object(self, target: ResourceTarget[T], call: Call) -> T:
        """Make a call whose response is one object."""
        response = await self._context.rest.call(call)
        return target.item.from_wire(response.body)

    async def _read(self, name: str, namespace: str = "", timeout: float | None = None) -> T:
        """Read an object, in the client's namespace or in `namespace`."""
        target = await self._target()
        call = self._build_call(target, "get", name=name, namespace=namespace, timeout=timeout)
        return await self._get_object(target, call)

    async def _coerce(self, obj: T | Mapping[str, object], field_validation: FieldValidation | None = None) -> T:
        """Turn an object or plain data into the object to send.

        Plain data is checked as `Object.new` checks it: an unknown field is an error, unless
        `field_validation` tells the server how to treat such fields.

        Raises:
            DecodeError: If the data does not match the type.
            ArgumentError: If it is an object of another kind.
        """
        target = await self._target()
        if not isinstance(obj, Object):
            # A caller who chooses a field validation leaves unknown fields to the server.
            is_strict = self._validation(field_validation) is None
            return _with_type_meta(_build(target.item, obj, is_strict=is_strict), target)
        # Untyped objects fit everywhere: their kind is known at run time only.
        if not (isinstance(obj, target.item) or Unstructured in {type(obj), target.item}):
            raise ArgumentError(
                f"{target.name} are of type {target.item.__name__}, and {obj.key!r} is of type {type(obj).__name__}",
                value=obj.key,
            )
        return _with_type_meta(obj, target)

    def _manager(self, field_manager: str | None) -> str:
        return self._context.defaults.field_manager if field_manager is None else field_manager

    def _validation(self, field_validation: FieldValidation | None) -> FieldValidation | None:
        return self._context.defaults.field_validation if field_validation is None else field_validation


def _build(cls: type[T], data: Mapping[str, object], *, is_strict: bool) -> T:
    """Build an object from plain data.

    Raises:
        DecodeError: If the data does not match the type.
    """
    try:
        return cls.from_dict(data, strict=is_strict)
    except DecodeError as error:
        if is_strict:
            error.add_note(
                'To send a field that the type does not know, as a newer server may have, say field_validation="Warn".'
            )
        raise


def _with_type_meta(obj: T, target: ResourceTarget[T]) -> T:
    """Return a copy with apiVersion and kind of an untyped object that lacks them; other objects unchanged."""
    if target.gvk is None or obj.kind or not isinstance(obj, Unstructured):
        return obj
    # A copy: the caller's object must not change.
    copy = obj.copy()
    copy.api_version, copy.kind = target.gvk.api_version, target.gvk.kind
    return copy


def is_missing_object(error: NotFoundError) -> bool:
    """Whether an error is about an object, rather than about a resource that the server does not have."""
    return error.details is not None and bool(error.details.name)


def default_for(error: NotFoundError, default: D) -> D:
    """Return the default for an object that does not exist.

    Raises:
        NotFoundError: If there is no default, or the error is about the resource.
    """
    # A kind that is not served is a mistake of the caller, whatever the default.
    if default is UNSET or not is_missing_object(error):
        raise error
    return default


def object_or_none(response: Response, item: type[T]) -> T | None:
    """Decode the response to a delete: the object if it still exists, None if not.

    Some resources return a deleted object. An existing one has a deletion timestamp and
    waits for its finalizers or its grace period; a namespace, for its contents.

    Raises:
        DecodeError: If the response is neither empty nor a Status nor an object.
    """
    if not response.body.strip():
        return None
    try:
        head = typeinfo.decode_json(response.body, _KindOnly)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"the response to a delete is not an object: {error}", kind=item.__name__) from None
    # The object is deleted, and the server confirms it with a Status.
    if head.kind == "Status":
        return None
    left = item.from_wire(response.body)
    # A pod deleted without grace comes back with a grace period of 0 and no finalizers: it does not exist any more.
    waits = left.metadata.finalizers or left.metadata.deletion_grace_period_seconds != 0
    return left if left.metadata.deletion_timestamp is not None and waits else None


def name_of(obj: Object, verb: str) -> str:
    """Return the name of an object that a verb needs.

    Raises:
        ArgumentError: If the object has no name, or is plain data.
    """
    if not isinstance(cast("object", obj), Object):
        raise ArgumentError(
            f"to {verb} an object, give one, not a {type(obj).__name__}: ConfigMap.from_dict({{...}}), or "
            "masthead.meta.Unstructured.from_dict({...})",
            value=obj,
        )
    if not obj.metadata.name:
        raise ArgumentError(f"to {verb} {_with_article(obj.kind or 'object')}, set metadata.name", value=obj.key)
    return obj.metadata.name


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"


def _namespace_for(
    target: ResourceTarget[Any], verb: str, call: tuple[str, str], *, client: str | None, obj: str, name: str | None
) -> str:
    """Decide the namespace of a call from the client's and the object's. `call` is its verb and resource for messages.

    Raises:
        ArgumentError: If the namespace is missing, not allowed, or the client's and the object's differ.
    """
    # An empty string is more likely an unset variable than a wish for all namespaces.
    if client is not None and not client:
        raise ArgumentError(f"{' '.join(call)}: the namespace is empty; leave it out for all namespaces", value=client)
    if obj and client and obj != client:
        raise ArgumentError(
            f"{' '.join(call)}: the object is in namespace {obj!r}, this client in {client!r}; "
            "use a client of that namespace, or leave it out here",
            value=obj,
        )
    namespace = client or obj
    # Whether a resource is namespaced may be unknown (None): then the server decides.
    if target.namespaced is False and namespace:
        raise ArgumentError(
            f"{' '.join(call)}: {target.name} are cluster-scoped; leave out {namespace!r}",
            value=namespace,
        )
    # The API server would answer 405 or 404, without a hint.
    if target.namespaced and not namespace and verb not in _WHOLE_COLLECTION:
        raise ArgumentError(
            f"{' '.join(call)}: {target.name} are namespaced; name the namespace: {_in_namespace(target)}",
            value=name,
        )
    return namespace


def _written(found: TargetOrLazy[Any]) -> str:
    """How a user writes a resource, without its client and its namespace: ``config_maps``."""
    if isinstance(found, LazyTarget):
        return found.title
    if found.facts is None or not found.item.__module__.startswith("masthead.api."):
        return found.resource.resource
    return _method_name(found.item.GVK.kind, found.resource.resource)


def _hint(found: TargetOrLazy[Any], option: str) -> str:
    """What to write instead of an option whose place is another call; empty for all others."""
    if option == "watch":
        return f"{_written(found)}.watch() watches"
    if option != "namespace":
        return ""
    if isinstance(found, LazyTarget):
        return f"choose the namespace before the verb: client.dynamic({found.title!r}, namespace='default')"
    if found.namespaced is False:
        return f"{found.name} are cluster-scoped: leave it out"
    return f"choose the namespace before the verb: {_in_namespace(found)}"


def _in_namespace(target: ResourceTarget[Any]) -> str:
    """How a user writes the client of a resource in a namespace, for messages."""
    resource = target.resource
    if target.facts is None:
        return f"client.dynamic({str(resource.group_version)!r}, {resource.resource!r}, namespace='default')"
    if not target.item.__module__.startswith("masthead.api."):
        return f"client.resource({target.item.__name__}, 'default')"
    return f"{_method_name(target.item.GVK.kind, resource.resource)}('default')"


def _method_name(kind: str, plural: str) -> str:
    """The clientset's method for a resource: ``config_maps`` for ``configmaps`` of the kind ``ConfigMap``."""
    *first, _ = _WORDS.findall(kind)
    words = [word.lower() for word in first]
    return "_".join([*words, plural.removeprefix("".join(words))])
