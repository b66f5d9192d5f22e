"""Systems outside of the cluster: fakes whose calls are recorded, and are points for crashes."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.testing._explore.control import RunControl

__all__ = ["RecordedSystem", "state_of"]

_MAX_ARGUMENT: Final = 200
"""The maximum length of an argument in the text of a call."""


class RecordedSystem:
    """Forwards calls to a fake of an external system, and records them.

    Args:
        system: The fake.
        control: The control of the run.
    """

    def __init__(self, system: object, control: RunControl) -> None:
        self._system = system
        self._control = control

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the fake has
        found = getattr(self._system, name)
        # Reading an attribute changes nothing outside, so that a crash there shows nothing.
        if name.startswith("_") or not callable(found):
            return found
        return self._record(name, found)

    def _record(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call_async(*args: object, **kwargs: object) -> object:
                number = self._begin(name, args, kwargs)
                result = await function(*args, **kwargs)
                self._end(number)
                return result

            return call_async

        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            number = self._begin(name, args, kwargs)
            result = function(*args, **kwargs)
            self._end(number)
            return result

        return call

    def _begin(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> int:
        words = [*map(_text, args), *(f"{key}={_text(value)}" for key, value in kwargs.items())]
        number, dies = self._control.begin_call(f"{name}({', '.join(words)})")
        if dies:
            # The operator is dead: no `except Exception` of it may treat this as a failed call.
            raise asyncio.CancelledError
        return number

    def _end(self, number: int) -> None:
        if self._control.end_call(number):
            # The call has had its effect, but the dead operator never learns of it.
            raise asyncio.CancelledError


def state_of(system: object) -> object:
    """Return the state of a fake: what its method ``state`` returns, or else its public attributes."""
    state = getattr(system, "state", None)
    if callable(state):
        return state()
    found = getattr(system, "__dict__", {})
    return {name: value for name, value in found.items() if not name.startswith("_")}


def _text(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_ARGUMENT else f"{text[:_MAX_ARGUMENT]}…"
