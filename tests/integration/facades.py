"""One test, two façades: a blocking client that can be used as if it were an async one."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

_ASYNC_HOMES = ("masthead.client.{}", "masthead.discovery.{}", "masthead.{}.client")
_END = object()


class Awaited:
    """Something blocking, behind the face of its async twin: what blocks runs in a thread and is awaited.

    Which methods those are, the async class of the same name says. So a test that passes here has called the blocking
    class, with the names and arguments of the async one.
    """

    def __init__(self, blocking: Any) -> None:
        self._blocking = blocking
        self._twin = async_twin(type(blocking))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._blocking, name)
        method = inspect.getattr_static(self._twin, name, None)
        if inspect.isasyncgenfunction(method):
            return lambda *args, **options: _iterate(partial(value, *args, **options))
        if inspect.iscoroutinefunction(method):
            return partial(_in_thread, value)
        if callable(value) and inspect.isfunction(method):
            return lambda *args, **options: faced(value(*args, **options))
        return faced(value)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._blocking.__enter__)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self._blocking.__exit__, *exc)

    def __aiter__(self) -> AsyncIterator[Any]:
        return _iterate(lambda: self._blocking)

    async def __anext__(self) -> Any:
        item = await asyncio.to_thread(next, self._blocking, _END)
        if item is _END:
            raise StopAsyncIteration
        return faced(item)


def faced(value: Any) -> Any:
    """Wrap what belongs to the blocking façade; leave values alone."""
    return Awaited(value) if type(value).__module__.startswith("masthead.sync") else value


def async_twin(blocking: type) -> type:
    """The async class of the same name."""
    home = blocking.__module__.removeprefix("masthead.sync.")
    for place in _ASYNC_HOMES:
        try:
            module = importlib.import_module(place.format(home))
        except ModuleNotFoundError:
            continue
        if found := vars(module).get(blocking.__name__):
            assert isinstance(found, type)
            return found
    raise LookupError(f"{blocking} has no async twin")


async def _in_thread(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return faced(await asyncio.to_thread(call, *args, **options))


async def _iterate(begin: Callable[[], Any]) -> AsyncIterator[Any]:
    items: Iterator[Any] = iter(await asyncio.to_thread(begin))
    while (item := await asyncio.to_thread(next, items, _END)) is not _END:
        yield faced(item)
