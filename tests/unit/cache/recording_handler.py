"""What handlers were told, written down."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from masthead._cache.informer.handlers import EventHandler
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable


class RecordingHandler(EventHandler[ConfigMap]):
    """Writes down what it is told: ``initial a=1``, ``add a=1``, ``update a=1>2``, ``delete a=2``, ``lost a=2``.

    Attributes:
        told: All of it.
        on_told: Is called whenever something was told.
    """

    def __init__(self, on_told: Callable[[], object] = lambda: None) -> None:
        self.told: list[str] = []
        self.on_told = on_told
        self._more = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def on_add(self, obj: ConfigMap, is_initial: bool) -> object:
        return self._tell(f"{'initial' if is_initial else 'add'} {_said(obj)}")

    def on_update(self, old: ConfigMap, new: ConfigMap) -> object:
        return self._tell(f"update {_said(old)}>{_value(new)}")

    def on_delete(self, obj: ConfigMap, final_state_known: bool) -> object:
        return self._tell(f"{'delete' if final_state_known else 'lost'} {_said(obj)}")

    def _tell(self, sentence: str) -> object:
        self.told.append(sentence)
        self._loop.call_soon_threadsafe(self._more.set)  # from a thread of its own, with the blocking façade
        return self.on_told()

    async def until(self, sentence: str, *, within: float = 30.0) -> list[str]:
        """Everything that is told up to a sentence."""
        async with asyncio.timeout(within):
            while sentence not in self.told:
                self._more.clear()
                await self._more.wait()
        return self.told[: self.told.index(sentence) + 1]

    @property
    def state(self) -> dict[str, str]:
        """What is there, for somebody who knows the recorder only; fails if it contradicts itself."""
        state: dict[str, str] = {}
        for sentence in self.told:
            what, _, about = sentence.partition(" ")
            name, _, value = about.partition("=")
            if what in {"initial", "add"}:
                assert name not in state, f"{sentence}, but it is there: {self.told}"
                state[name] = value
            elif what == "update":
                old, _, new = value.partition(">")
                assert state[name] == old, f"{sentence}, but it is {state[name]}: {self.told}"
                state[name] = new
            else:
                assert name in state, f"{sentence}, but it is not there: {self.told}"
                del state[name]
        return state


class AsyncRecordingHandler(RecordingHandler):
    """The same, with coroutines: between two sentences, others get their turn, or as much time as the test wants."""

    def __init__(self, pause: Callable[[], Any] = lambda: asyncio.sleep(0)) -> None:
        super().__init__()
        self._pause = pause
        self.inside = 0
        self.most_inside = 0

    async def _heard(self, tell: Callable[[], object]) -> None:
        self.inside += 1
        self.most_inside = max(self.inside, self.most_inside)
        await self._pause()
        tell()
        self.inside -= 1

    async def on_add(self, obj: ConfigMap, is_initial: bool) -> None:
        await self._heard(lambda: super(AsyncRecordingHandler, self).on_add(obj, is_initial))

    async def on_update(self, old: ConfigMap, new: ConfigMap) -> None:
        await self._heard(lambda: super(AsyncRecordingHandler, self).on_update(old, new))

    async def on_delete(self, obj: ConfigMap, final_state_known: bool) -> None:
        await self._heard(lambda: super(AsyncRecordingHandler, self).on_delete(obj, final_state_known))


def _said(obj: ConfigMap) -> str:
    return f"{obj.metadata.name}={_value(obj)}"


def _value(obj: ConfigMap) -> str:
    return obj.data.get("value", "")
