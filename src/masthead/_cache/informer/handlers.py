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
"""The class of the objects: a handler of any object is a handler of pods, too."""

OnAdd: TypeAlias = Callable[[T], object]
"""Called with an object that came, or was there already."""
OnUpdate: TypeAlias = Callable[[T, T], object]
"""Called with what an object was, and what it is."""
OnDelete: TypeAlias = Callable[[T], object]
"""Called with what an object was last."""


@set_module("masthead")
class EventHandler(Generic[T_contra]):
    """Receives the events of an informer; override the methods that are of interest.

    Calls never overlap, and those about one object come in the order in which things happened. The objects are shared:
    `copy` one before changing it. With `masthead.aio`, methods may be coroutine functions; plain ones must not block.
    With the blocking client they run in a thread of the handler's own, and may. After an exception, the next call
    follows; a handler's first is logged with its traceback, then its tenth, its hundredth and so on.
    """

    def on_add(self, obj: T_contra, is_initial: bool) -> object:
        """An object came.

        Args:
            obj: The object.
            is_initial: Whether it was there before the handler, or the informer, was.
        """

    def on_update(self, old: T_contra, new: T_contra) -> object:
        """An object changed; or a resync delivers it again, with the same object twice.

        Args:
            old: What it was.
            new: What it is.
        """

    def on_delete(self, obj: T_contra, final_state_known: bool) -> object:
        """An object is gone.

        Args:
            obj: What it was last, as far as that is known.
            final_state_known: Whether that is how it ended. If not, the deletion was missed, as while the server could
                not be reached, and this is the last state that was seen.
        """


class _Functions(EventHandler[T]):
    """Functions as a handler."""

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
    """Passes events on to another handler, for the objects that pass a filter.

    An object that begins to pass is delivered as added, one that ceases to as deleted.

    Args:
        keep: Whether an object passes.
        handler: The other handler.

    Raises:
        ArgumentError: If the filter is no plain function, or the handler none.
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
        """Pass on the add of an object that passes."""
        return self._handler.on_add(obj, is_initial) if self._keep(obj) else None

    def on_update(self, old: T, new: T) -> object:
        """Pass on the update of an object that passes now, or did."""
        passed, passes = self._keep(old), self._keep(new)
        if passed and passes:
            return self._handler.on_update(old, new)
        # As client-go's FilteringResourceEventHandler: for the handler, it is added or deleted.
        if passes:
            return self._handler.on_add(new, False)
        return self._handler.on_delete(old, True) if passed else None

    def on_delete(self, obj: T, final_state_known: bool) -> object:
        """Pass on the delete of an object that passed."""
        return self._handler.on_delete(obj, final_state_known) if self._keep(obj) else None


def handler_of(
    handler: EventHandler[T] | None,
    on_add: OnAdd[T] | None,
    on_update: OnUpdate[T] | None,
    on_delete: OnDelete[T] | None,
) -> EventHandler[T]:
    """A handler, given as one or as functions.

    Raises:
        ArgumentError: If there is nothing to call, or both a handler and functions, or something that is neither, or
            that cannot be called with the arguments of an event.
    """
    functions = {"on_add": on_add, "on_update": on_update, "on_delete": on_delete}
    given = {name: each for name, each in functions.items() if each is not None}
    if handler is not None:
        if given:
            raise ArgumentError(f"give a handler, or functions such as {next(iter(given))}, not both")
        _check_handler(handler)
        return handler
    if not given:
        raise ArgumentError("a handler needs something to call: on_add, on_update or on_delete")
    for name, each in given.items():
        # Refused at registration: when an event comes, an error of a handler is only logged.
        if not callable(each):
            raise ArgumentError(f"{name} is of type {type(each).__name__}; give a function", value=each)
        _check_signature(name, each, _FUNCTION_ARGUMENTS[name])
    return _Functions(on_add, on_update, on_delete)


_FUNCTION_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "on_add": ("obj",),
    "on_update": ("old", "new"),
    "on_delete": ("obj",),
}
"""What functions are called with."""
_METHOD_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "on_add": ("obj", "is_initial"),
    "on_update": ("old", "new"),
    "on_delete": ("obj", "final_state_known"),
}
"""What the methods of a handler are called with."""


def _check_handler(handler: object) -> None:
    """Refuse what would fail whenever it is called, or never be called.

    Raises:
        ArgumentError: If it is that.
    """
    name = type(handler).__name__
    # A class has the methods, too, but they lack their self.
    if isinstance(handler, type):
        name = handler.__name__
        raise ArgumentError(f"{name} is a class; give an object: {name}()", value=handler)
    for each, arguments in _METHOD_ARGUMENTS.items():
        method = getattr(handler, each, None)
        if not callable(method):
            raise ArgumentError(f"a {name} is no handler: it has no {each}; derive it from EventHandler", value=handler)
        _check_signature(f"{each} of {name}", method, arguments)
    # The inherited methods do nothing; most likely, a name is misspelt.
    if not any(_is_overridden(handler, method_argument) for method_argument in _METHOD_ARGUMENTS):
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
    """Whether something of a handler has to be awaited."""
    if isinstance(handler, FilteringEventHandler):
        return is_async(handler.handler)
    if isinstance(handler, _Functions):
        return any(map(is_coroutine_function, handler.functions()))
    return any(map(is_coroutine_function, (handler.on_add, handler.on_update, handler.on_delete)))
