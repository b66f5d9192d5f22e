"""One test, two façades: a blocking client that can be used as if it were an async one."""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import pkgutil
from functools import partial
from typing import TYPE_CHECKING, Any

import masthead
import masthead.aio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

_END = object()


class AsyncView:
    """Gives a blocking object the interface of its async counterpart: its calls run in a thread and are awaited.

    The async class of the same name determines those methods. So a test that passes here has called the blocking
    class, with the names and arguments of the async one.
    """

    def __init__(self, blocking: Any) -> None:
        self._blocking = blocking
        self._counterpart = async_counterpart(type(blocking))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._blocking, name)
        method = inspect.getattr_static(self._counterpart, name, None)
        if inspect.isasyncgenfunction(method):
            return lambda *args, **options: _iterate(partial(value, *args, **options))
        if inspect.iscoroutinefunction(method):
            return partial(_in_thread, value)
        if callable(value) and inspect.isfunction(method):
            return lambda *args, **options: faced(value(*args, **options))
        return faced(value)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return faced(self._blocking(*args, **options))

    async def __aenter__(self) -> Any:
        entered = await asyncio.to_thread(self._blocking.__enter__)
        return self if entered is self._blocking else faced(entered)

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self._blocking.__exit__, *exc)

    def __aiter__(self) -> AsyncIterator[Any]:
        return _iterate(lambda: self._blocking)

    async def __anext__(self) -> Any:
        item = await asyncio.to_thread(next, self._blocking, _END)
        if item is _END:
            raise StopAsyncIteration
        return faced(item)


def informer_of(source: Any, **options: Any) -> Any:
    """A `SharedInformer` of a resource, or of several, through the façade that the resource is of."""
    return _made("SharedInformer", source, options)


def factory_of(client: Any, **options: Any) -> Any:
    """A `SharedInformerFactory` of a client, through the façade that the client is of."""
    return _made("SharedInformerFactory", client, options)


def is_blocking(thing: Any) -> bool:
    """Whether it belongs to the blocking façade, whose handlers run in threads of their own."""
    return isinstance(thing, AsyncView)


def _made(name: str, given: Any, options: dict[str, Any]) -> Any:
    if any(map(is_blocking, given if isinstance(given, list) else [given])):
        return AsyncView(getattr(masthead, name)(_plain(given), **options))
    return getattr(masthead.aio, name)(given, **options)


def _plain(value: Any) -> Any:
    """Return the wrapped blocking object."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value._blocking if isinstance(value, AsyncView) else value


def faced(value: Any) -> Any:
    """Wrap what belongs to the blocking façade; leave values alone."""
    return AsyncView(value) if type(value) in _blocking_classes() else value


def async_counterpart(blocking: type) -> type:
    """The async class of the same name, in a module of the same name if several have one."""
    twins = {module: each for module, each in _async_classes() if each.__name__ == blocking.__name__}
    if not twins:
        raise LookupError(f"{blocking} has no async counterpart")
    return twins.get(_blocking_classes()[blocking], next(iter(twins.values())))


@functools.cache
def _blocking_classes() -> dict[type, str]:
    """The classes of the blocking façade, and in which module each stands."""
    others = {each for _, each in _async_classes()}
    layers = ("_sync", "clientset", "informers")
    return {cls: module for layer in layers for module, cls in _classes_in(layer) if cls not in others}


@functools.cache
def _async_classes() -> tuple[tuple[str, type], ...]:
    layers = ("_client", "aio.clientset", "aio.informers", "_cache", "_discovery", "_rest", "_meta", "_sansio")
    return tuple(found for layer in layers for found in _classes_in(layer))


def _classes_in(layer: str) -> Iterator[tuple[str, type]]:
    """Every class that a module of a layer defines or imports, with the last part of the module's name."""
    package = importlib.import_module(f"masthead.{layer}")
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for var in vars(importlib.import_module(info.name)).values():
            if isinstance(var, type):
                yield info.name.rpartition(".")[2], var


async def _in_thread(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return faced(await asyncio.to_thread(call, *args, **options))


async def _iterate(begin: Callable[[], Any]) -> AsyncIterator[Any]:
    items: Iterator[Any] = iter(await asyncio.to_thread(begin))
    while (item := await asyncio.to_thread(next, items, _END)) is not _END:
        yield faced(item)
