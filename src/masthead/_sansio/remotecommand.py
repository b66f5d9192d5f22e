"""The messages of exec and attach over a WebSocket: ``v5.channel.k8s.io``, and v4, which cannot close stdin.

Each message is a channel number and bytes. Two channels have the output of a command, a third its exit status.
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
"""The maximum length of an exit code: 32 bits, with a sign."""
_NON_ZERO: Final = "NonZeroExitCode"
_EXIT_CODE: Final = "ExitCode"


class Channel(enum.IntEnum):
    """The channel of a message."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    RESIZE = 4


class MalformedStatusError(ValueError):
    """The error channel has no Status, or an incomplete one."""


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """The exit status of a command.

    Attributes:
        code: The exit code; None if the command did not run, or its end is unknown.
        reason: The reason of the Status, such as ``InternalError``; empty for an exit code.
        message: The message of the Status.
    """

    code: int | None
    reason: str = ""
    message: str = ""


class StatusCollector:
    """Collects the bytes of the error channel, which form one Status."""

    def __init__(self) -> None:
        self._collected = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes, up to a limit."""
        # Beyond the limit it is no Status; the error shows its beginning.
        if len(self._collected) <= _MAX_STATUS:
            self._collected += data

    @property
    def is_empty(self) -> bool:
        """Whether no bytes have arrived."""
        return not self._collected

    def status(self) -> ExitStatus:
        """The collected Status.

        Raises:
            MalformedStatusError: If it is not a Status.
        """
        return exit_status(bytes(self._collected))


def encode_message(channel: Channel, data: bytes | memoryview) -> bytes:
    """Encode bytes on a channel."""
    return b"".join((bytes((channel,)), data))


def close_message(channel: Channel) -> bytes:
    """Encode the end of a channel; see `can_close`."""
    return bytes((_CLOSE, channel))


def can_close(protocol: str) -> bool:
    """Whether a subprotocol can end a channel."""
    # v4 cannot end stdin: a command that reads to its end waits for the connection to close.
    return protocol == _V5


def resize_message(width: int, height: int) -> bytes:
    """Encode the size of the terminal."""
    return encode_message(Channel.RESIZE, b'{"Width":%d,"Height":%d}\n' % (width, height))


def exit_status(data: bytes) -> ExitStatus:
    """Decode the Status of the error channel.

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
            # A failure with exit code 0 contradicts itself, so that the end of the command is unknown.
            is_number = text.isascii() and text.removeprefix("-").isdigit() and len(text) <= _MAX_DIGITS
            return (int(text) or None) if is_number else None
    return None
