"""Formatters of log records, with the fields of the reconcile: JSON for machines, text for terminals."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from masthead._controller.log_values import MAX_TEXT, hide_credentials, plain_value, shortened
from masthead._controller.logs import ReconcileFields, current_reconcile
from masthead._errors.base import printable
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["JsonFormatter", "TextFormatter"]

_STANDARD: Final = frozenset(
    {
        *vars(logging.makeLogRecord({})),
        *("message", "asctime", "taskName", "controller", "object", "reconcile_id"),
    }
)
"""Attributes of every record, and attributes that the formatters render separately."""
_RESERVED: Final = frozenset(
    {"ts", "level", "logger", "msg", "controller", "namespace", "name", "reconcileID", "error", "stacktrace"}
)
_COLORS: Final = {
    logging.DEBUG: "\x1b[2m",
    logging.WARNING: "\x1b[33m",
    logging.ERROR: "\x1b[31m",
    logging.CRITICAL: "\x1b[1;31m",
}
_DIM: Final = "\x1b[2m"
_RESET: Final = "\x1b[0m"
_SHORT_ID: Final = 18


@set_module("masthead.controller")
class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object on one line.

    Keys: ``ts`` (RFC 3339, UTC), ``level``, ``logger``, ``msg``; within a reconcile ``controller``, ``namespace``,
    ``name`` and ``reconcileID``; then the fields of `extra`, and ``error`` and ``stacktrace`` of an exception.
    Operators that log with controller-runtime use the same keys.

    All records can be formatted: other values than those of JSON are replaced by their reprs, long values are
    shortened, and values of keys such as ``token`` and ``password``, bytes, and ``Authorization`` headers are hidden.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; never raises."""
        line: dict[str, object] = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _message(record),
        }
        fields = _fields(record)
        if fields is not None:
            line["controller"] = fields.controller
            if fields.namespace:
                line["namespace"] = fields.namespace
            line["name"] = fields.name
            line["reconcileID"] = fields.reconcile_id
        for key, value in _extras(record):
            # A field of the program must not replace ours, nor be lost.
            line[f"{key}_" if key in _RESERVED else key] = plain_value(value, key)
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = plain_value(record.exc_info[1])
        if stack := _stack(self, record):
            line["stacktrace"] = stack
        # ASCII escapes make lone surrogates valid as well.
        return json.dumps(line, separators=(",", ":"))


@set_module("masthead.controller")
class TextFormatter(logging.Formatter):
    """Formats a record for people: time, level, reconcile, message, and the fields of `extra`.

    ::

        15:04:05.123 INFO    website default/web 5f0c2a9e-1  created the Deployment  replicas=3

    Further lines of a message and tracebacks are indented, and control characters are removed, so that no message can
    fake another line.

    Args:
        color: Whether to use the colours of a terminal.
    """

    def __init__(self, *, color: bool = False) -> None:
        super().__init__()
        self._has_color = color

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; never raises."""
        fields = _fields(record)
        if fields is None:
            subject = record.name
        else:
            subject = f"{fields.controller} {fields.object} {fields.reconcile_id[:_SHORT_ID]}"
        extras = "".join(f"  {key}={_format_value(value, key)}" for key, value in _extras(record))
        # Without the date, which people at a terminal know.
        time = _timestamp(record)[11:23]
        level = f"{record.levelname:<7}"
        if self._has_color:
            time, subject = f"{_DIM}{time}{_RESET}", f"{_DIM}{printable(subject)}{_RESET}"
            if color := _COLORS.get(record.levelno):
                level = f"{color}{level}{_RESET}"
        else:
            subject = printable(subject)
        text = f"{time} {level} {subject}  {printable(_message(record))}{printable(extras)}"
        if stack := _stack(self, record):
            text = f"{text}\n  {printable(stack)}"
        # A lone surrogate would fail in the stream, after the formatter.
        return text.encode("utf-8", "backslashreplace").decode()


def _timestamp(record: logging.LogRecord) -> str:
    try:
        return f"{datetime.fromtimestamp(record.created, UTC).isoformat(timespec='milliseconds')[:23]}Z"
    except (ValueError, OverflowError, OSError, TypeError):
        # A hand-made record may have a time outside of the calendar.
        return "0001-01-01T00:00:00.000Z"


def _message(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except Exception as error:  # noqa: BLE001 - the line says what was logged in any case
        shown = plain_value([record.msg, record.args])
        text = f"{shown} (formatting the message failed: {type(error).__name__})"
    return hide_credentials(shortened(text))


def _fields(record: logging.LogRecord) -> ReconcileFields | None:
    """Return the fields of the reconcile: from the filter of the logging thread, or of the current context."""
    controller = getattr(record, "controller", None)
    if controller is None:
        return current_reconcile()
    # The filter sets empty fields outside of a reconcile.
    if not controller:
        return None
    return ReconcileFields(
        str(controller), str(getattr(record, "object", "")), str(getattr(record, "reconcile_id", ""))
    )


def _extras(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    for key, value in vars(record).items():
        if key not in _STANDARD and not key.startswith("_"):
            yield key, value


def _stack(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    """Format the traceback of the exception, and the stack of a record with `stack_info`."""
    parts: list[str] = []
    try:
        if record.exc_info and record.exc_info[1] is not None:
            parts.append(formatter.formatException(record.exc_info))
        # A queue handler has formatted the traceback already.
        elif record.exc_text:
            parts.append(record.exc_text)
        if record.stack_info:
            parts.append(formatter.formatStack(record.stack_info))
        return hide_credentials(shortened("\n".join(parts), 2 * MAX_TEXT))
    except Exception as error:  # noqa: BLE001 - an exception that cannot be shown must not cost the line
        return f"the traceback cannot be shown: {type(error).__name__}"


def _format_value(value: object, key: str) -> str:
    plain = plain_value(value, key)
    if isinstance(plain, str):
        is_word = bool(plain) and plain.isprintable() and not any(character in plain for character in ' "=')
        return plain if is_word else json.dumps(plain, ensure_ascii=False)
    return json.dumps(plain, ensure_ascii=False)
