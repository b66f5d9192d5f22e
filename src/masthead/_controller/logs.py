"""Logging that names the reconcile: controller, object and reconcile id in every line, from any logger and thread.

What is reconciled is a context variable. It reaches coroutines, tasks and ``asyncio.to_thread`` by itself; a thread that
is started in another way needs ``contextvars.copy_context().run``.

No logger and no factory is replaced: a handler that has a `ReconcileFilter`, such as that of `setup_logging`, adds the
fields to each record it handles, whoever logs it.
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


class ReconcileFields(NamedTuple):
    """What names a reconcile in log lines.

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
    """Return what is reconciled here; None outside of a reconcile."""
    return _CURRENT.get()


class reconcile_fields:  # noqa: N801 - used as a function, and faster than a generator
    """Name a reconcile in all lines that are logged within: ``with reconcile_fields(controller=..., ...)``.

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
    """Adds ``controller``, ``object`` and ``reconcile_id`` to each record; empty outside of a reconcile. Passes all.

    Add it to a handler of your own, whose format can then have ``%(controller)s %(object)s %(reconcile_id)s``::

        import logging

        handler = logging.StreamHandler()
        handler.addFilter(masthead.controller.ReconcileFilter())
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields, unless the record has them from another handler."""
        if not hasattr(record, "controller"):
            fields = _CURRENT.get()
            record.controller, record.object, record.reconcile_id = fields or ("", "", "")
        return True


class ReconcileLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger whose records name a reconcile, also for handlers without `ReconcileFilter`.

    Args:
        logger: Where records go.
        fields: What is reconciled.
    """

    def __init__(self, logger: logging.Logger, fields: ReconcileFields) -> None:
        super().__init__(logger, {})
        self._fields = fields

    def process(self, msg: object, kwargs: MutableMapping[str, object]) -> tuple[object, MutableMapping[str, object]]:
        """Add the fields to `extra`; what the caller gives stays."""
        extra = kwargs.get("extra")
        kwargs["extra"] = {**self._fields._asdict(), **(extra if isinstance(extra, dict) else {})}
        return msg, kwargs


def _may_color() -> bool:
    """Whether a terminal has colours, and the user wants them."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in {"", "dumb", "unknown"}


class _MastheadHandler(logging.StreamHandler["TextIO"]):
    """The handler of `setup_logging`, so that another call finds it."""


@set_module("masthead.controller")
def setup_logging(
    format: LogFormat = "",
    level: str | int = "INFO",
    *,
    stream: TextIO | None = None,
) -> None:
    """Log to the error output, with the controller, the object and the reconcile id in each line of a reconcile.

    It adds one handler to the root logger and sets its level; calling it again replaces that handler. Handlers of others
    stay.

    Args:
        format: ``json`` for one JSON object per line, ``text`` for people; empty for text on a terminal, otherwise JSON.
        level: The level of the root logger, as a name or a number.
        stream: Where to write; ``sys.stderr`` if None.

    Raises:
        ArgumentError: If the format or the level is invalid.
    """
    # Not at the top: the formatters need the fields of this module.
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
        if isinstance(other, _MastheadHandler):
            root.removeHandler(other)
    root.addHandler(handler)
