"""Conversions by webhook: the results of one request or watch, and the evaluation of code that needs them.

Merging, encoding and rendering are synchronous and pure, and may ask for a conversion anywhere. Such code runs in
`Conversions.run`. A conversion without a result raises `ConversionPending`; then the webhook is called, and the code is
evaluated again with the result. Only that code runs twice: it has no effects before its last conversion.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

from masthead_server.resources.custom.conversion_review import ConversionError
from masthead_server.threads import compute_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from masthead_server.wire.plain import Plain

__all__ = ["ConversionKey", "ConversionPending", "Conversions"]

T = TypeVar("T")
ConversionKey: TypeAlias = tuple[str, bytes]
"""Identifies a conversion: the version to convert to, and the object."""
_MAX_OBJECTS: Final = 500
"""Objects in one review."""


class _Webhook(Protocol):
    async def call(self, objects: list[Plain], target: str) -> list[Plain]:
        """Convert objects to an API version; raises ConversionError."""
        ...


class ConversionPending(Exception):  # noqa: N818 - a request for conversions, not an error
    """A webhook has to convert objects first.

    Attributes:
        webhook: The webhook.
        objects: The objects, with kind and apiVersion.
        target: The API version to convert them to.
    """

    def __init__(self, webhook: _Webhook, objects: dict[ConversionKey, Plain], target: str) -> None:
        super().__init__(f"{len(objects)} objects are to be converted to {target}")
        self.webhook = webhook
        self.objects = objects
        self.target = target


class Conversions:
    """The objects that a webhook has converted for one request or watch."""

    def __init__(self) -> None:
        self._results: dict[ConversionKey, Plain | ConversionError] = {}

    @classmethod
    def current(cls) -> Conversions | None:
        """Return the conversions of the code that runs; None outside of `run` and `active`."""
        return _current.get()

    def find(self, key: ConversionKey) -> Plain | ConversionError | None:
        """Return a converted object, or the error of its conversion; None if the webhook was not called yet."""
        return self._results.get(key)

    async def run(self, compute: Callable[..., T], *args: object, in_thread: bool = False) -> T:
        """Evaluate synchronous code with these conversions, as often as it needs further ones.

        Args:
            compute: The code. It must have no effects before its last conversion.
            *args: Its arguments.
            in_thread: Whether to evaluate it in a thread.
        """
        while True:
            try:
                if in_thread:
                    return await compute_in_thread(self._evaluate, compute, args)
                return self._evaluate(compute, args)
            except ConversionPending as pending:
                await self._fetch(pending)

    @contextmanager
    def active(self) -> Generator[None]:
        """Let the code of the block find the conversions; the block must not await anything."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def _evaluate(self, compute: Callable[..., T], args: tuple[object, ...]) -> T:
        with self.active():
            return compute(*args)

    async def _fetch(self, pending: ConversionPending) -> None:
        """Call the webhook, and keep the converted objects or the error."""
        keys = list(pending.objects)
        for begin in range(0, len(keys), _MAX_OBJECTS):
            # In batches, because a webhook may limit the size of its requests.
            batch = keys[begin : begin + _MAX_OBJECTS]
            try:
                converted = await pending.webhook.call([pending.objects[key] for key in batch], pending.target)
            # All objects of a review share its error, and every use of them raises it.
            except ConversionError as error:
                self._results.update(dict.fromkeys(batch, error))
            else:
                self._results.update(zip(batch, converted, strict=True))


_current: Final[ContextVar[Conversions | None]] = ContextVar("_current", default=None)
