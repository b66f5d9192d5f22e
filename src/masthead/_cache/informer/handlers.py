"""Event handlers: the callbacks for changes of objects."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from masthead._cache.callables import check_plain, is_coroutine_function
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "EventHandler",
    "FilteringEventHandler",
    "OnAdd",
    "OnDelete",
    "OnUpdate",
    "handler_of",
    "is_async",
]

T = TypeVar("T", bound=Object)
T_contra = TypeVar("T_contra", bound=Object, contravariant=True)
"""The class of the objects. Contravariant: a handler of any object is a handler of pods, too."""

OnAdd: TypeAlias = Callable[[T], object]
"""Called with a new or existing object."""
OnUpdate: TypeAlias = Callable[[T, T], object]
"""Called with the old and the new state of an object."""
OnDelete: TypeAlias = Callable[[T], object]
"""Called with the last known state of a deleted object."""


@set_module("masthead")
class EventHandler(Generic[T_contra]):
    """Receives the events of an informer; override the methods that you need.

    Calls never overlap, and the calls for one object keep the order of its changes. The objects are shared: `copy` an
    object before changing it. With `masthead.aio`, methods may be coroutine functions; plain ones must not block. With
    the blocking client, each handler has its own thread, and may block. An exception does not stop later calls; the log
    shows a handler's first exception with its traceback, then the tenth, the hundredth and so on.
    """

    def on_add(self, obj: T_contra, is_initial: bool) -> object:
        """Handle a new object.

        Args:
            obj: The object.
            is_initial: Whether it existed before the handler was added or the informer started.
        """

    def on_update(self, old: T_contra, new: T_contra) -> object:
        """Handle a change of an object; or a resync, which passes the same object twice.

        Args:
            old: The old state.
            new: The new state.
        """

    def on_delete(self, obj: T_contra, final_state_known: bool) -> object:
        """Handle a deletion.

        Args:
            obj: The last known state.
            final_state_known: Whether that is the final state. If not, the watch missed the deletion, for instance
                while the server was unreachable.
        """


class _Functions(EventHandler[T]):
    """A handler made of functions."""

    def __init__(self, on_add: OnAdd[T] | None, on_update: OnUpdate[T] | None, on_delete: OnDelete[T] | None) -> None:
        self._on_add = on_add
        self._on_update = on_update
        self._on_delete = on_delete

    def on_add(self, obj: T, is_initial: bool) -> object:  # noqa: ARG002 - functions do not take it
        return self._on_add(obj) if self._on_add is not None else None

    def on_update(self, old: T, new: T) -> object:
        return self._on_update(old, new) if self._on_update is not None else None

    def on_delete(self, obj: T, final_state_known: bool) -> object:  # noqa: ARG002 - functions do not take it
        return self._on_delete(obj) if self._on_delete is not None else None

    def functions(self) -> Iterator[object]:
        yield from (self._on_add, self._on_update, self._on_delete)


@set_module("masthead.cache")
class FilteringEventHandler(EventHandler[T]):
    """Forwards the events of objects that pass a filter to another handler.

    An object that begins to pass is delivered as added, an object that ceases to pass as deleted.

    Args:
        keep: The filter; returns whether an object passes.
        handler: The other handler.

    Raises:
        ArgumentError: If the filter is not a plain function, or the handler is not a handler.
    """

    def __init__(self, keep: Callable[[T], bool], handler: EventHandler[T]) -> None:
        check_plain("a filter", keep)
        handler_of(handler, None, None, None)
        self._keep = keep
        self._handler = handler

    @property
    def handler(self) -> EventHandler[T]:
        """The other handler."""
        return self._handler

    def on_add(self, obj: T, is_initial: bool) -> object:
        """Forward the add of an object that passes."""
        return self._handler.on_add(obj, is_initial) if self._keep(obj) else None

    def on_update(self, old: T, new: T) -> object:
        """Forward the update of an object that passes now, or passed before."""
        passed, passes = self._keep(old), self._keep(new)
        if passed and passes:
            return self._handler.on_update(old, new)
        # As client-go's FilteringResourceEventHandler: for the handler, it is added or deleted.
        if passes:
            return self._handler.on_add(new, False)
        return self._handler.on_delete(old, True) if passed else None

    def on_delete(self, obj: T, final_state_known: bool) -> object:
        """Forward the delete of an object that passed."""
        return self._handler.on_delete(obj, final_state_known) if self._keep(obj) else None


def handler_of(
    handler: EventHandler[T] | None,
    on_add: OnAdd[T] | None,
    on_update: OnUpdate[T] | None,
    on_delete: OnDelete[T] | None,
) -> EventHandler[T]:
    """Return a handler, which may be passed as functions.

    Raises:
        ArgumentError: If nothing can be called, both a handler and functions are passed, or a signature is wrong.
    """
    callbacks = {"on_add": on_add, "on_update": on_update, "on_delete": on_delete}
    given = {name: callback for name, callback in callbacks.items() if callback is not None}
    if handler is not None:
        if given:
            raise ArgumentError(f"give a handler, or functions such as {next(iter(given))}, not both")
        _check_handler(handler)
        return handler
    if not given:
        raise ArgumentError("a handler needs something to call: on_add, on_update or on_delete")
    for name, callback in given.items():
        # Refused at registration: an error of a handler is only logged when an event arrives.
        if not callable(callback):
            raise ArgumentError(f"{name} is of type {type(callback).__name__}; give a function", value=callback)
        _check_signature(name, callback, _FUNCTION_ARGUMENTS[name])
    return _Functions(on_add, on_update, on_delete)


_FUNCTION_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "on_add": ("obj",),
    "on_update": ("old", "new"),
    "on_delete": ("obj",),
}
"""The arguments of functions."""
_METHOD_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "on_add": ("obj", "is_initial"),
    "on_update": ("old", "new"),
    "on_delete": ("obj", "final_state_known"),
}
"""The arguments of methods."""


def _check_handler(handler: object) -> None:
    """Refuse a handler that would fail on every call, or never be called.

    Raises:
        ArgumentError: If a method is missing or has the wrong signature, or none is overridden.
    """
    name = type(handler).__name__
    # A class has the methods, too, but they lack `self`.
    if isinstance(handler, type):
        name = handler.__name__
        raise ArgumentError(f"{name} is a class; give an object: {name}()", value=handler)
    for method_name, arguments in _METHOD_ARGUMENTS.items():
        method = getattr(handler, method_name, None)
        if not callable(method):
            remedy = (
                "pass it as on_add=, on_update= or on_delete=" if callable(handler) else "derive it from EventHandler"
            )
            raise ArgumentError(f"a {name} is no handler: it has no {method_name}; {remedy}", value=handler)
        _check_signature(f"{method_name} of {name}", method, arguments)
    # The inherited methods are no-ops; most likely, a name is misspelt.
    if not any(_is_overridden(handler, method_name) for method_name in _METHOD_ARGUMENTS):
        raise ArgumentError(
            f"a {name} overrides none of {', '.join(_METHOD_ARGUMENTS)}, and so would never be called",
            value=handler,
        )


def _is_overridden(handler: object, method: str) -> bool:
    return getattr(getattr(handler, method), "__func__", None) is not getattr(EventHandler, method)


def _check_signature(what: str, function: Callable[..., object], arguments: Sequence[str]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have none
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        takes = ", ".join(map(str, signature.parameters.values()))
        raise ArgumentError(
            f"{what} takes ({takes}); it is called with ({', '.join(arguments)})", value=function
        ) from None


def is_async(handler: EventHandler[T]) -> bool:
    """Whether a method of a handler is a coroutine function."""
    if isinstance(handler, FilteringEventHandler):
        return is_async(handler.handler)
    if isinstance(handler, _Functions):
        return any(map(is_coroutine_function, handler.functions()))
    return any(map(is_coroutine_function, (handler.on_add, handler.on_update, handler.on_delete)))
