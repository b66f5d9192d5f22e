"""What every client of a resource shares: a connection, habits, and how calls are put together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeAlias, TypeVar

import msgspec

from masthead._meta import typeinfo
from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._rest.call import JSON, Call, Subject
from masthead._rest.paths import resource_path
from masthead.errors import DecodeError, InvalidValueError, NameFormatError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._client.options import FieldValidation, Query
    from masthead._client.target import ResourceTarget
    from masthead._meta.gvk import GroupVersionResource
    from masthead._rest.client import RestClient
    from masthead._rest.response import Response

__all__ = ["ClientContext", "Defaults", "BaseResource", "LazyTarget"]

T = TypeVar("T", bound=Object)

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
_ANSWERED_WITH_LIST: Final = frozenset({"list", "deletecollection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a client does where a call does not say otherwise.

    Attributes:
        page_size: How many objects of a list are asked for at a time.
        field_manager: Under which name changes are recorded; empty to leave it to the server.
        field_validation: What the server does about fields that it does not know; None to leave it to the server.
        check_watch_lists: Compare every list that came as a watch with a plain list of the same version.
    """

    page_size: int = 500
    field_manager: str = ""
    field_validation: FieldValidation | None = None
    check_watch_lists: bool = False

    def __post_init__(self) -> None:
        if self.page_size < 1:
            raise InvalidValueError(f"page_size is {self.page_size}; one is the least", value=self.page_size)


@dataclass(frozen=True, slots=True)
class ClientContext:
    """A connection to a server, the client's habits, and what was learnt about the server.

    Attributes:
        rest: The connection.
        defaults: What the client does where a call does not say otherwise.
        without_initial_events: The resources of which a watch cannot begin with what there is.
    """

    rest: RestClient
    defaults: Defaults
    without_initial_events: set[GroupVersionResource] = field(default_factory=set["GroupVersionResource"])


class _Said(msgspec.Struct):
    """Enough of an answer to see what it is."""

    kind: str = ""


@dataclass(frozen=True, slots=True)
class LazyTarget(Generic[T]):
    """A resource that is looked up when it is first needed.

    Attributes:
        title: What it was called by whoever asked for it.
        find: Looks it up.
    """

    title: str
    find: Callable[[], Awaitable[ResourceTarget[T]]]


TargetOrLazy: TypeAlias = "ResourceTarget[T] | LazyTarget[T]"


class BaseResource(Generic[T]):
    """How calls about one resource are put together, and their answers read.

    The verbs are in the classes that stand on this one.
    """

    _ITEM: ClassVar[type[Object]] = Object
    """What an object becomes as long as the resource is not found out; for classes whose objects are all alike."""

    def __init__(self, context: ClientContext, target: TargetOrLazy[T], namespace: str | None) -> None:
        """Speak about a resource.

        Args:
            context: The connection.
            target: The resource, or how to find it out when it is first needed.
            namespace: Whose objects; None for all namespaces, and for what lives in none.

        Raises:
            NameFormatError: if the namespace cannot be one.
            InvalidValueError: if there are no namespaces for this resource.
        """
        self._context = context
        self._found = target
        self._namespace = namespace

    @property
    def namespace(self) -> str | None:
        """Whose objects these are; None for all namespaces, and for what lives in none."""
        return self._namespace

    def __repr__(self) -> str:
        where = "everywhere" if self._namespace is None else f"in {self._namespace!r}"
        found = self._found
        what = f" of {found.title if isinstance(found, LazyTarget) else found.name}"
        return f"<{type(self).__name__}{what} {where}>"

    async def _target(self) -> ResourceTarget[T]:
        found = self._found
        if isinstance(found, LazyTarget):
            found = self._found = await found.find()
        return found

    async def _build_call(
        self,
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
    ) -> Call:
        """Put a call together. `about` is the name of an object whose name is not in the path, for messages."""
        target = await self._target()
        if name is None and (subresource or verb in _OF_ONE_OBJECT):
            raise NameFormatError(
                f"{verb} {target.name}: None is not the name of an object. Nothing was sent.", value=name
            )
        inside = _namespace_for(target, verb, mine=self._namespace, asked=namespace, name=name)
        path = resource_path(target.resource, namespace=inside, name=name, subresource=subresource)
        what = f"{target.name}/{subresource}" if subresource else target.name
        return Call(
            _METHODS[verb],
            path,
            Subject(verb, what, inside, name or about, target.removal),
            query or (),
            body,
            content_type,
            target.accept_list if verb in _ANSWERED_WITH_LIST else target.accept,
            timeout=timeout,
            read_timeout=read_timeout,
        )

    async def _get_object(self, call: Call) -> T:
        """Make a call that is answered with one object."""
        answer = await self._context.rest.call(call)
        return (await self._target()).item.from_wire(answer.body)

    async def _coerce(
        self, obj: T | Mapping[str, object], field_validation: FieldValidation | None = None
    ) -> T:
        """An object to send, which may have been given as plain data.

        Plain data is checked as `Object.new` checks it: a misspelt field is an error, unless `field_validation` says what
        the server is to do about such fields.

        Raises:
            DecodeError: if the data does not fit the type.
            InvalidValueError: if it is an object of another kind.
        """
        target = await self._target()
        if not isinstance(obj, Object):
            is_strict = self._validation(field_validation) is None
            return _with_type_meta(_built(target.item, obj, is_strict=is_strict), target)
        if not (isinstance(obj, target.item) or Unstructured in {type(obj), target.item}):
            raise InvalidValueError(
                f"{target.name} are of type {target.item.__name__}, and {obj.key!r} is of type {type(obj).__name__}",
                value=obj.key,
            )
        return _with_type_meta(obj, target)

    def _manager(self, field_manager: str | None) -> str:
        return self._context.defaults.field_manager if field_manager is None else field_manager

    def _validation(self, field_validation: FieldValidation | None) -> FieldValidation | None:
        return self._context.defaults.field_validation if field_validation is None else field_validation


def _built(cls: type[T], data: Mapping[str, object], *, is_strict: bool) -> T:
    """An object of plain data.

    Raises:
        DecodeError: If it does not fit the type.
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
    """The same object; a copy that says what it is, where it does not and the resource does."""
    if target.gvk is None or obj.kind or not isinstance(obj, Unstructured):
        return obj
    told = obj.copy()
    told.api_version, told.kind = target.gvk.api_version, target.gvk.kind
    return told


def object_or_none(answer: Response, item: type[T]) -> T | None:
    """What a delete was answered with: the object that is still there, or None if it is gone.

    Some kinds answer with the object although it is gone. One that is still there is marked as being deleted, and waits
    for its finalizers or its grace period; a namespace, for what is in it.

    Raises:
        DecodeError: if it is neither.
    """
    try:
        said = typeinfo.decode_json(answer.body, _Said)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"the answer to a delete is no object: {error}", kind=item.__name__) from None
    if said.kind == "Status":
        return None
    left = item.from_wire(answer.body)
    waits = left.metadata.finalizers or left.metadata.deletion_grace_period_seconds != 0
    return left if left.metadata.deletion_timestamp is not None and waits else None


def name_of(obj: Object, verb: str) -> str:
    """The name of an object that is sent somewhere.

    Raises:
        InvalidValueError: if it has none.
    """
    if not obj.metadata.name:
        raise InvalidValueError(
            f"to {verb} {_with_article(obj.kind or 'object')}, set metadata.name", value=obj.key
        )
    return obj.metadata.name


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"


def _namespace_for(
    target: ResourceTarget[Any], verb: str, *, mine: str | None, asked: str, name: str | None
) -> str:
    """The namespace that a call goes to.

    Raises:
        InvalidValueError: if it needs one and has none, or the other way round, or there are two that differ.
    """
    if mine is not None and not mine:
        raise InvalidValueError(
            f"{verb} {target.name}: the namespace is empty; leave it out for all namespaces", value=mine
        )
    if asked and mine and asked != mine:
        raise InvalidValueError(
            f"{verb} {target.name}: the object is of namespace {asked!r}, this client of {mine!r}; "
            "take the client of that namespace, or leave it out here",
            value=asked,
        )
    namespace = mine or asked
    if target.namespaced is False and namespace:
        raise InvalidValueError(
            f"{verb} {target.name}: {target.name} live in no namespace; leave out {namespace!r}",
            value=namespace,
        )
    if target.namespaced and not namespace and verb not in _WHOLE_COLLECTION:
        raise InvalidValueError(
            f"{verb} {target.name}: {target.name} live in namespaces; say which: {_in_namespace(target)}",
            value=name,
        )
    return namespace


def _in_namespace(target: ResourceTarget[Any]) -> str:
    """How a resource is asked for in a namespace, as a user would write it."""
    resource = target.resource
    if target.facts is None:
        return f"client.dynamic({str(resource.group_version)!r}, {resource.resource!r}, namespace='default')"
    if not target.item.__module__.startswith("masthead.api."):
        return f"client.resource({target.item.__name__}, 'default')"
    return f"{_method_name(target.item.GVK.kind, resource.resource)}('default')"


def _method_name(kind: str, plural: str) -> str:
    """What the clientset calls a resource: ``config_maps`` for ``configmaps`` of the kind ``ConfigMap``."""
    *first, _ = _WORDS.findall(kind)
    words = [each.lower() for each in first]
    return "_".join([*words, plural.removeprefix("".join(words))])
