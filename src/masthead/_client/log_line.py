"""A line of a log, and which container wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from masthead._meta.time import parse_time
from masthead._module import set_module
from masthead.errors import DecodeError, TimeError

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["LogLine"]


@set_module("masthead.streams")
class LogLine(msgspec.Struct, frozen=True, gc=False):
    """A line of the log of a container; its text is ``[pod/web/app] text``, as ``kubectl logs --prefix`` prints it.

    Attributes:
        namespace: The pod's namespace.
        pod: The pod's name.
        container: The container's name.
        text: The line, without its newline. Bytes that are not UTF-8 are replaced.
        time: When it was written, in RFC 3339 with nanoseconds, by the node's clock; empty for a message of the node.
    """

    namespace: str
    pod: str
    container: str
    text: str
    time: str = ""

    @property
    def timestamp(self) -> datetime | None:
        """When it was written, to the microsecond; None for a message of the node."""
        try:
            return parse_time(self.time) if self.time else None
        except TimeError:
            return None

    def json(self) -> Any:  # noqa: ANN401 - plain data
        """The text as plain data, of a container that writes one JSON value per line.

        Raises:
            DecodeError: If the text is not JSON.
        """
        try:
            return msgspec.json.decode(self.text)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            shown = self.text if len(self.text) <= 80 else f"{self.text[:80]}..."
            why = str(error) if isinstance(error, msgspec.DecodeError) else "it is nested too deep"
            raise DecodeError(
                f"a log line of container {self.container!r} is not JSON: {shown!r}: {why}",
                kind="Pod",
                subject=f"{self.namespace}/{self.pod}",
            ) from None

    def __str__(self) -> str:
        return f"[pod/{self.pod}/{self.container}] {self.text}"
