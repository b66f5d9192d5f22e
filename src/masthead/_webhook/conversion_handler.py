"""Answers ConversionReviews with the declared conversions."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._errors.base import counted
from masthead._meta.gvk import GroupKind, GroupVersion
from masthead._webhook.conversion_reviews import decode_conversion, encode_conversion
from masthead._webhook.conversions import (
    ConversionError,
    decode_source,
    encode_converted,
    restore_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

    from masthead._webhook.conversions import Converters
    from masthead._webhook.function_calls import FunctionCalls

__all__ = ["CONVERT_PATH", "ConversionHandler"]

_log: Final = logging.getLogger("masthead.webhook")

CONVERT_PATH: Final = "/convert"
_MAX_PROBLEMS: Final = 5
"""Objects that the message of a failed review names."""
_TIMEOUT: Final = 30.0
"""Seconds that the API server waits for a conversion."""
_SLICE: Final = 50
"""Objects that are converted on the event loop before other tasks have their turn."""


class ConversionHandler:
    """Answers reviews of all converted kinds.

    Args:
        converters: The declared conversions.
        calls: Calls their functions.
    """

    def __init__(self, converters: Converters, calls: FunctionCalls) -> None:
        self.name: str = "convert"
        self.timeout: float = _TIMEOUT
        self._converters = converters
        self._calls = calls

    async def respond(self, body: bytes, limit: float) -> bytes:
        """Answer a review: all objects are converted, or the message names the failed ones.

        Args:
            body: The ConversionReview.
            limit: The time limit in seconds.

        Raises:
            ReviewError: If the body is not a review.
            CallTimeoutError: If the functions take too long.
            BusyError: If too many functions are running.
        """
        uid, target, objects = decode_conversion(body)
        converted, problems = await self._convert_in_time(objects, target, limit)
        if not problems:
            return encode_conversion(uid, converted)
        listed = problems[:_MAX_PROBLEMS]
        if len(problems) > len(listed):
            listed.append(f"and {counted(len(problems) - len(listed), 'more object')}")
        return encode_conversion(uid, None, "; ".join(listed))

    async def _convert_in_time(
        self, objects: list[dict[str, Any]], target: str, limit: float
    ) -> tuple[list[dict[str, Any]], list[str]]:
        is_async = self._converters.is_async
        # Plain functions of a whole list run in one thread: a switch of threads per object would cost more than they.
        function = self._convert_all if is_async else self._convert_at_once
        result = await self._calls.call(function, objects, target, is_async=is_async, takes_client=False, limit=limit)
        return cast("tuple[list[dict[str, Any]], list[str]]", result)

    def _convert_at_once(self, objects: list[dict[str, Any]], target: str) -> object:
        return _run_at_once(self._convert_all(objects, target, yields=False))

    async def _convert_all(
        self, objects: list[dict[str, Any]], target: str, *, yields: bool = True
    ) -> tuple[list[dict[str, Any]], list[str]]:
        converted: list[dict[str, Any]] = []
        problems: list[str] = []
        for number, raw in enumerate(objects):
            if yields and number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            try:
                converted.append(await self._convert(raw, target))
            except ConversionError as error:
                problems.append(f"{_subject_of(raw)}: {error}")
            except Exception as error:  # noqa: BLE001 - the function is the user's
                _log.exception("the conversion of %s to %s failed", _subject_of(raw), target)
                problems.append(f"{_subject_of(raw)}: {type(error).__name__}: {error}")
        return converted, problems

    async def _convert(self, raw: dict[str, Any], target: str) -> dict[str, Any]:
        version = GroupVersion.parse(str(raw.get("apiVersion", "")))
        kind = GroupKind(version.group, str(raw.get("kind", "")))
        wanted = GroupVersion.parse(target)
        if wanted.group != version.group:
            raise ConversionError(f"{kind} cannot be converted to {target}")
        if wanted.version == version.version:
            return raw
        current = raw
        for spec in self._converters.find(kind, version.version, wanted.version):
            result = spec.function(decode_source(spec.source, current))
            if spec.is_async:
                result = await cast("Awaitable[object]", result)
            # After each step, so that the next one sees complete metadata.
            current = restore_metadata(current, encode_converted(spec, result))
        return current


def _subject_of(raw: dict[str, Any]) -> str:
    metadata = raw.get("metadata")
    given = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
    name = str(given.get("name") or given.get("generateName") or "an object without a name")
    return f"{given['namespace']}/{name}" if given.get("namespace") else name


def _run_at_once(coroutine: Coroutine[object, None, object]) -> object:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a plain conversion waited")
