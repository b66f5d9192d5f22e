"""Handlers that record their notifications."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from masthead._cache.informer.handlers import EventHandler
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable


class RecordingHandler(EventHandler[ConfigMap]):
    """Records its notifications: ``initial a=1``, ``add a=1``, ``update a=1>2``, ``delete a=2``, ``lost a=2``.

    Attributes:
        recorded: All notifications.
        on_recorded: Is called after each notification.
    """

    def __init__(self, on_recorded: Callable[[], object] = lambda: None) -> None:
        self.recorded: list[str] = []
        self.on_recorded = on_recorded
        self._more = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def on_add(self, obj: ConfigMap, is_initial: bool) -> object:
        return self._record(f"{'initial' if is_initial else 'add'} {_described(obj)}")

    def on_update(self, old: ConfigMap, new: ConfigMap) -> object:
        return self._record(f"update {_described(old)}>{_value(new)}")

    def on_delete(self, obj: ConfigMap, final_state_known: bool) -> object:
        return self._record(f"{'delete' if final_state_known else 'lost'} {_described(obj)}")

    def _record(self, sentence: str) -> object:
        self.recorded.append(sentence)
        self._loop.call_soon_threadsafe(self._more.set)  # called in the handler's thread, with the blocking façade
        return self.on_recorded()

    async def until(self, sentence: str, *, within: float = 30.0) -> list[str]:
        """Wait for a notification; returns everything recorded up to it."""
        async with asyncio.timeout(within):
            while sentence not in self.recorded:
                self._more.clear()
                await self._more.wait()
        return self.recorded[: self.recorded.index(sentence) + 1]

    @property
    def state(self) -> dict[str, str]:
        """The state that follows from the notifications alone; fails if they contradict each other."""
        state: dict[str, str] = {}
        for sentence in self.recorded:
            what, _, about = sentence.partition(" ")
            name, _, value = about.partition("=")
            if what in {"initial", "add"}:
                assert name not in state, f"{sentence}, but it is there: {self.recorded}"
                state[name] = value
            elif what == "update":
                old, _, new = value.partition(">")
                assert state[name] == old, f"{sentence}, but it is {state[name]}: {self.recorded}"
                state[name] = new
            else:
                assert name in state, f"{sentence}, but it is not there: {self.recorded}"
                del state[name]
        return state


class AsyncRecordingHandler(RecordingHandler):
    """The same, with coroutines: between two sentences, others get their turn, or as much time as the test wants."""

    def __init__(self, pause: Callable[[], Any] = lambda: asyncio.sleep(0)) -> None:
        super().__init__()
        self._pause = pause
        self.inside = 0
        self.most_inside = 0

    async def _paused(self, record: Callable[[], object]) -> None:
        self.inside += 1
        self.most_inside = max(self.inside, self.most_inside)
        await self._pause()
        record()
        self.inside -= 1

    async def on_add(self, obj: ConfigMap, is_initial: bool) -> None:
        await self._paused(lambda: super(AsyncRecordingHandler, self).on_add(obj, is_initial))

    async def on_update(self, old: ConfigMap, new: ConfigMap) -> None:
        await self._paused(lambda: super(AsyncRecordingHandler, self).on_update(old, new))

    async def on_delete(self, obj: ConfigMap, final_state_known: bool) -> None:
        await self._paused(lambda: super(AsyncRecordingHandler, self).on_delete(obj, final_state_known))


def _described(obj: ConfigMap) -> str:
    return f"{obj.metadata.name}={_value(obj)}"


def _value(obj: ConfigMap) -> str:
    return obj.data.get("value", "")
