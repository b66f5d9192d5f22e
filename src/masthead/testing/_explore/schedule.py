"""Schedules: the seed and the faults of a run, and their text form."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Final, get_args

import msgspec

from masthead._meta import typeinfo
from masthead._module import set_module
from masthead.errors import ArgumentError
from masthead.testing._explore.faults import PlannedFault

__all__ = ["Schedule"]

_VERSION: Final = "v1:"
_MAX_TEXT: Final = 10_000
_MAX_BYTES: Final = 100_000


class Schedule(msgspec.Struct, frozen=True, array_like=True):
    """What happens in a run, in addition to the workload.

    Attributes:
        seed: The source of all randomness.
        faults: The faults.
        steps: The number of steps of the workload to run; 0 for all.
        skipped: Steps that are left out.
    """

    seed: int = 0
    faults: tuple[PlannedFault, ...] = ()
    steps: int = 0
    skipped: tuple[int, ...] = ()

    def __str__(self) -> str:
        """The text form, which `parse` reads."""
        packed = zlib.compress(msgspec.msgpack.encode(self), 9)
        return _VERSION + base64.urlsafe_b64encode(packed).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read the text form of a schedule.

        Raises:
            ArgumentError: If the text is not a schedule.
        """
        problem = f"{text[:60]!r} is not a schedule; copy it from a finding, such as 'v1:eJz…'"
        if not text.startswith(_VERSION) or len(text) > _MAX_TEXT:
            raise ArgumentError(problem, value=text)
        body = text.removeprefix(_VERSION).strip()
        try:
            # The text form has no padding, because shells and addresses treat "=" specially.
            packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
            decompressor = zlib.decompressobj()
            # With a limit, because a short text can unpack to gigabytes.
            content = decompressor.decompress(packed, _MAX_BYTES)
            return _DECODER.decode(content)
        except (binascii.Error, zlib.error, msgspec.DecodeError) as error:
            raise ArgumentError(problem, value=text) from error


_DECODER: Final = typeinfo.msgpack_decoder(Schedule)

# Only now: msgspec has looked up the types of all fields in the modules of their classes.
for _public in (Schedule, *get_args(PlannedFault)):
    set_module("masthead.testing.exploration")(_public)
