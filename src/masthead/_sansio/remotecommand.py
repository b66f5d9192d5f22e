"""The messages of exec and attach over a WebSocket: ``v5.channel.k8s.io``, and v4, which cannot close stdin.

Each message is a channel number and its bytes. What a command prints comes on two channels, how it ended on a third.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

import msgspec

from masthead._meta.v1 import Status

__all__ = [
    "PROTOCOLS",
    "Channel",
    "ExitStatus",
    "MalformedStatusError",
    "StatusCollector",
    "can_close",
    "close_message",
    "encode_message",
    "exit_status",
    "resize_message",
]

_V5: Final = "v5.channel.k8s.io"
_V4: Final = "v4.channel.k8s.io"
PROTOCOLS: Final = (_V5, _V4)
"""The subprotocols, the preferred one first."""
_CLOSE: Final = 255
_MAX_STATUS: Final = 2**16
"""The maximum size of a Status, in bytes."""
_MAX_DIGITS: Final = 11
"""The length of the longest exit code: of 32 bits, with a sign."""
_NON_ZERO: Final = "NonZeroExitCode"
_EXIT_CODE: Final = "ExitCode"


class Channel(enum.IntEnum):
    """What a message is about."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    RESIZE = 4


class MalformedStatusError(ValueError):
    """What came on the error channel is no Status, or not all of one."""


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a command ended.

    Attributes:
        code: The exit code; None if the command did not run, or it is not known how it ended.
        reason: The reason of the Status, such as ``InternalError``; empty for an exit code.
        message: The message of the Status.
    """

    code: int | None
    reason: str = ""
    message: str = ""


class StatusCollector:
    """Collects the bytes of the error channel, of which all together are one Status."""

    def __init__(self) -> None:
        self._collected = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes; a server that sends too many is not listened to any more."""
        if len(self._collected) <= _MAX_STATUS:
            self._collected += data

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come."""
        return not self._collected

    def status(self) -> ExitStatus:
        """What has come, as a whole.

        Raises:
            MalformedStatusError: If it is not a Status.
        """
        return exit_status(bytes(self._collected))


def encode_message(channel: Channel, data: bytes | memoryview) -> bytes:
    """The message that carries bytes on a channel."""
    return b"".join((bytes((channel,)), data))


def close_message(channel: Channel) -> bytes:
    """The message that ends a channel; see `can_close`."""
    return bytes((_CLOSE, channel))


def can_close(protocol: str) -> bool:
    """Whether a subprotocol has a message that ends a channel."""
    return protocol == _V5


def resize_message(width: int, height: int) -> bytes:
    """The message about the size of the terminal."""
    return encode_message(Channel.RESIZE, b'{"Width":%d,"Height":%d}\n' % (width, height))


def exit_status(data: bytes) -> ExitStatus:
    """Read the Status of the error channel.

    Raises:
        MalformedStatusError: If it is not a Status.
    """
    try:
        status = Status.from_json(data)
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        shown = data[:200].decode("utf-8", "replace")
        raise MalformedStatusError(f"{shown!r} is not a Status ({error})") from None
    if status.status == "Success":
        return ExitStatus(0)
    if status.reason == _NON_ZERO and (code := _exit_code(status)) is not None:
        return ExitStatus(code, message=status.message or "")
    return ExitStatus(None, status.reason or "Unknown", status.message or "")


def _exit_code(status: Status) -> int | None:
    causes = status.details.causes if status.details is not None else []
    for cause in causes:
        if cause.reason == _EXIT_CODE:
            text = cause.message or ""
            # A failure with exit code 0 says nothing about how the command ended.
            is_number = text.isascii() and text.removeprefix("-").isdigit() and len(text) <= _MAX_DIGITS
            return (int(text) or None) if is_number else None
    return None
