"""``date``: the server's time, or another one, in a format."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.arguments import read_options
from masthead_server.kubelet.shell.control import UsageError

if TYPE_CHECKING:
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["date"]

_DEFAULT: Final = "%a %b %e %H:%M:%S UTC %Y"
_RFC_2822: Final = "%a, %d %b %Y %H:%M:%S +0000"
_ISO_FORMATS: Final = {
    "": "%Y-%m-%d",
    "date": "%Y-%m-%d",
    "hours": "%Y-%m-%dT%H+00:00",
    "minutes": "%Y-%m-%dT%H:%M+00:00",
    "seconds": "%Y-%m-%dT%H:%M:%S+00:00",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONG: Final = {"--date": "d", "--utc": "u", "--universal": "u", "--rfc-2822": "R", "--rfc-email": "R"}
_MAX_FORMAT: Final = 4096


async def date(arguments: list[str], io: CommandIO) -> int:
    """Print the time: ``+FORMAT``, ``-u``, ``-d @SECONDS``, ``-d 2026-01-31``, ``-R``, ``-I``, ``-Iseconds``."""
    iso = next((word for word in arguments if re.match("-I|--iso-8601", word)), None)
    options, operands = read_options([word for word in arguments if word is not iso], "uR", "d", long=_LONG)
    form = _RFC_2822 if "R" in options else _DEFAULT
    if iso is not None:
        form = _ISO_FORMATS.get(re.sub("-I|--iso-8601=?", "", iso), "")
        if not form:
            raise UsageError(f"invalid argument '{iso}'")
    for operand in operands:
        # Setting the clock is refused like a date that cannot be read: the clock is the server's.
        if not operand.startswith("+") or len(operand) > _MAX_FORMAT:
            raise UsageError(f"invalid date '{operand}'")
        form = operand[1:]
    now = io.state.clock.now().astimezone(UTC)
    await io.print(_format(_parse(options["d"], now) if "d" in options else now, form))
    return 0


def _parse(text: str, now: datetime) -> datetime:
    """The time that a text names."""
    try:
        if re.fullmatch(r"@-?[0-9]{1,12}(\.[0-9]{1,9})?", text):
            return _EPOCH + timedelta(seconds=float(text[1:]))
        if text == "now":
            return now
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(f"invalid date '{text}'") from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _format(when: datetime, form: str) -> str:
    known = {
        "s": str((when - _EPOCH) // timedelta(seconds=1)),
        "N": f"{when.microsecond * 1000:09d}",
        "n": "\n",
        "t": "\t",
        "%": "%",
        "Z": "UTC",
        "z": "+0000",
    }

    def put(found: re.Match[str]) -> str:
        return known.get(found[1]) or when.strftime(found[0])

    return re.sub(r"%([a-zA-Z%])", put, form)
