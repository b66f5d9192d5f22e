"""Points in time, as the API has them: to the second or to the microsecond.

A field of kind ``Time`` is a plain aware ``datetime``. Values from code are converted to UTC and whole seconds, as
Kubernetes writes them; values from the server are not changed. ``MicroTime`` is a separate class, because the API
server requires six digits of fraction. Both fields accept any aware ``datetime``:
``LeaseSpec(renew_time=datetime.now(UTC))``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, overload

import msgspec

from masthead._meta import typeinfo
from masthead._meta.pydantic_schemas import core_schemas
from masthead._module import set_module
from masthead.errors import TimeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
"""An aware ``datetime``. A field keeps whole seconds of it, in UTC."""

_to_time: Final[Callable[[object], datetime]] = typeinfo.converter(Time)


@set_module("masthead.meta")
class MicroTime(datetime):
    """An aware ``datetime`` that is written to the microsecond, all six digits.

    It equals, hashes, compares and pickles as the ``datetime`` that it is, and a ``timedelta`` away from it is
    a ``MicroTime`` again.

    Raises:
        TimeError: If it would have no time zone.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        # Without this, type checkers refuse to take a plain datetime from a MicroTime. mypy wants operators to
        # take no more than their parents do, lest the order of operands be guessed wrong; here both agree.
        @overload  # type: ignore[override]
        def __sub__(self, other: datetime, /) -> timedelta: ...
        @overload
        def __sub__(self, other: timedelta, /) -> MicroTime: ...
        def __sub__(self, other: datetime | timedelta, /) -> timedelta | MicroTime: ...

    else:  # to type checkers these two keep the signatures that datetime gives them

        def __init__(self, *_args: object, **_kwargs: object) -> None:
            _require_zone(self)

        def replace(self, *args: object, **kwargs: object) -> MicroTime:
            """Return it with some parts changed; before Python 3.13 this does not come by ``__init__``."""
            replaced = super().replace(*args, **kwargs)
            _require_zone(replaced)
            return replaced

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:  # noqa: ANN401 - pydantic's
        """Return the schema for pydantic: RFC 3339 text, serialized to the microsecond."""
        del source, handler  # there is one schema of all times
        return core_schemas().micro_time_schema()

    @classmethod
    def of(cls, when: datetime) -> MicroTime:
        """Return the same point in time, in the same time zone.

        Raises:
            TimeError: If it has no time zone.
        """
        # Field by field, because datetime has no copy into a subclass.
        clock = (when.hour, when.minute, when.second, when.microsecond)
        return cls(when.year, when.month, when.day, *clock, tzinfo=when.tzinfo, fold=when.fold)


if TYPE_CHECKING:
    MicroTimeField: TypeAlias = datetime
else:
    MicroTimeField = MicroTime
    """A field that holds a `MicroTime`, and makes one of any aware ``datetime`` that it is given. To type checkers it
    is a ``datetime``, which both are."""


@set_module("masthead.meta")
def parse_time(text: str) -> datetime:
    """Return the point in time that RFC 3339 text names, with the offset that it is written in.

    Raises:
        TimeError: If the text is not RFC 3339, or names a time that Python has no ``datetime`` for.
    """
    # differs from client-go: digits beyond the microsecond are rounded where it would cut them off, and a "t",
    # a "z", a blank for the T and an offset without its colon are read too.
    try:
        return _to_time(text)
    except msgspec.ValidationError as error:
        message = f"{repr(text)[:60]} is not a time. Write RFC 3339 with a time zone: 2006-01-02T15:04:05Z."
        raise TimeError(message, value=text) from error


@set_module("masthead.meta")
def parse_micro_time(text: str) -> MicroTime:
    """Return the point in time that RFC 3339 text names, with the offset that it is written in.

    Raises:
        TimeError: If the text is not RFC 3339, or names a time that Python has no ``datetime`` for.
    """
    # differs from client-go: fewer or more than six digits of fraction are read too.
    return MicroTime.of(parse_time(text))


@set_module("masthead.meta")
def format_time(when: datetime) -> str:
    """Return it as the API writes a ``Time``: UTC, cut to the second.

    Raises:
        TimeError: If it has no time zone, or in UTC its year is not within 1 and 9999.
    """
    # differs from client-go: Go's zero time, the first second of year 1, is written out and is not null.
    return _to_utc(when).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


@set_module("masthead.meta")
def format_micro_time(when: datetime) -> str:
    """Return it as the API writes a ``MicroTime``: UTC, with six digits of fraction.

    Raises:
        TimeError: If it has no time zone, or in UTC its year is not within 1 and 9999.
    """
    return _to_utc(when).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def truncate_to_second(when: datetime) -> datetime:
    """Return it as a ``Time`` field holds it: a plain ``datetime`` in UTC, cut to the second.

    Raises:
        TimeError: If it has no time zone, or in UTC its year is not within 1 and 9999.
    """
    utc = _to_utc(when)
    # Not `replace`, which keeps the class: a MicroTime would be written with six digits again.
    return datetime(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, tzinfo=UTC)


def _to_utc(when: datetime) -> datetime:
    _require_zone(when)
    try:
        return when.astimezone(UTC)
    except OverflowError as error:
        message = f"{when.isoformat()} cannot be written in UTC: its year there is not within 1 and 9999."
        raise TimeError(message, value=when) from error


def _require_zone(when: datetime) -> None:
    if when.utcoffset() is None:
        # Not the local zone by default: the same program would write other times on another machine.
        message = f"{when.isoformat()} has no time zone. Give one, as in datetime.now(UTC)."
        raise TimeError(message, value=when)
