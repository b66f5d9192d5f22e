"""Log fields of a reconcile: controller, object and reconcile id in every line, from any logger and thread.

The fields are in a context variable. Coroutines, tasks and ``asyncio.to_thread`` inherit it; other threads need
``contextvars.copy_context().run``.

No logger or factory is replaced: a handler with a `ReconcileFilter`, such as that of `setup_logging`, adds the fields
to every record, from any logger.
"""

from __future__ import annotations

import logging
import os
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from contextvars import Token
    from types import TracebackType
    from typing import TextIO

    from masthead._controller.options import LogFormat

__all__ = [
    "ReconcileFields",
    "ReconcileFilter",
    "ReconcileLogger",
    "current_reconcile",
    "reconcile_fields",
    "setup_logging",
]


@set_module("masthead.controller")
class ReconcileFields(NamedTuple):
    """The log fields of a reconcile.

    Attributes:
        controller: The name of the controller.
        object: The key of the object: ``namespace/name``, or the name of a cluster-scoped object.
        reconcile_id: An id of this run.
    """

    controller: str
    object: str
    reconcile_id: str

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty if it is cluster-scoped."""
        return self.object.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.object.rpartition("/")[2]


_CURRENT: Final[ContextVar[ReconcileFields | None]] = ContextVar("masthead_reconcile", default=None)


def current_reconcile() -> ReconcileFields | None:
    """Return the log fields of the current reconcile; None outside of a reconcile."""
    return _CURRENT.get()


class reconcile_fields:  # noqa: N801 - used as a function, and faster than a generator
    """Add the fields of a reconcile to all log lines of a block: ``with reconcile_fields(controller=..., ...)``.

    Args:
        controller: The name of the controller.
        object: The key of the object, such as ``namespace/name``.
        reconcile_id: An id of this run.
    """

    __slots__ = ("_fields", "_token")

    def __init__(self, *, controller: str, object: str, reconcile_id: str) -> None:
        self._fields = ReconcileFields(controller, object, reconcile_id)
        self._token: Token[ReconcileFields | None] | None = None

    def __enter__(self) -> ReconcileFields:
        self._token = _CURRENT.set(self._fields)
        return self._fields

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _CURRENT.reset(self._token)
            self._token = None


@set_module("masthead.controller")
class ReconcileFilter(logging.Filter):
    """Adds ``controller``, ``object`` and ``reconcile_id`` to all records; empty outside of a reconcile. It drops none.

    Add it to a handler, whose format can then use ``%(controller)s %(object)s %(reconcile_id)s``::

        import logging

        handler = logging.StreamHandler()
        handler.addFilter(masthead.controller.ReconcileFilter())
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields, unless another handler has added them."""
        # A queue handler formats records in another thread, where the context variable is empty.
        if not hasattr(record, "controller"):
            fields = _CURRENT.get()
            record.controller, record.object, record.reconcile_id = fields or ("", "", "")
        return True


class ReconcileLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that adds the fields of a reconcile, also for handlers without `ReconcileFilter`.

    Args:
        logger: The underlying logger.
        fields: The fields.
    """

    def __init__(self, logger: logging.Logger, fields: ReconcileFields) -> None:
        super().__init__(logger, {})
        self._fields = fields

    def process(self, msg: object, kwargs: MutableMapping[str, object]) -> tuple[object, MutableMapping[str, object]]:
        """Add the fields to `extra`. The caller's fields take precedence."""
        extra = kwargs.get("extra")
        kwargs["extra"] = {**self._fields._asdict(), **(extra if isinstance(extra, dict) else {})}
        return msg, kwargs


def _may_color() -> bool:
    """Whether the terminal supports colours, and the user has not disabled them."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in {"", "dumb", "unknown"}


class _MastheadHandler(logging.StreamHandler["TextIO"]):
    """The handler of `setup_logging`; a separate class, so that another call finds it."""


@set_module("masthead.controller")
def setup_logging(
    format: LogFormat = "",
    level: str | int = "INFO",
    *,
    stream: TextIO | None = None,
) -> None:
    """Log to standard error, with the controller, the object and the reconcile id in every line of a reconcile.

    The function adds a handler to the root logger and sets its level. Another call replaces this handler; other
    handlers are unchanged.

    Args:
        format: ``json`` for one JSON object per line, ``text`` for people; empty for text on a terminal, otherwise
            JSON.
        level: The level of the root logger, as a name or a number.
        stream: The output; ``sys.stderr`` if None.

    Raises:
        ArgumentError: If the format or the level is invalid.
    """
    # Imported here, because the formatters import the fields of this module.
    from masthead._controller.log_formatters import JsonFormatter, TextFormatter

    if format not in {"", "text", "json"}:
        raise ArgumentError(f"format must be 'text' or 'json', not {format!r}", value=format)
    output = sys.stderr if stream is None else stream
    is_terminal = output.isatty()
    handler = _MastheadHandler(output)
    handler.addFilter(ReconcileFilter())
    if format == "json" or (not format and not is_terminal):
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(TextFormatter(color=is_terminal and _may_color()))
    root = logging.getLogger()
    try:
        root.setLevel(level.upper() if isinstance(level, str) else level)
    except ValueError:
        raise ArgumentError(
            f"level must be DEBUG, INFO, WARNING, ERROR or CRITICAL, not {level!r}", value=level
        ) from None
    for other in root.handlers[:]:
        # Only our own handler is replaced, not those of the program.
        if isinstance(other, _MastheadHandler):
            root.removeHandler(other)
    root.addHandler(handler)
