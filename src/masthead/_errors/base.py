"""`MastheadError`, and the errors that arise in the client, without a response from a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from masthead._errors.control_characters import escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.unstructured import Unstructured

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
"""Terminal escape sequences: colours, cursor movements, titles."""


def printable(text: str) -> str:
    """Make foreign text safe for terminals and logs: remove escape sequences and control characters.

    Line breaks stay. All lines but the first are indented, so that none can pass for a separate log line.
    """
    # Most messages are printable, and errors are formatted often.
    if text.isprintable():
        return text
    lines = _ESCAPES.sub("", text).splitlines()
    return "\n  ".join("".join([character if character.isprintable() else " " for character in line]) for line in lines)


def format_seconds(seconds: float) -> str:
    """Round a duration for a message: the rest of a timeout is never a round number."""
    # Below a tenth, two decimals would round to 0.
    return f"{seconds:.2g}" if seconds < 0.1 else f"{round(seconds, 2):g}"


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 object``, ``2 objects``.

    Args:
        count: The number of things.
        noun: The noun in the singular; its plural ends in an s.
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


class MastheadError(Exception):
    """The base class of every error that masthead raises."""

    def __str__(self) -> str:
        """The message, with control characters escaped, so that a server's text cannot act on a terminal."""
        return escape_controls(super().__str__())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle message and attributes, so that an error survives a process pool."""
        # Exception passes args to __init__, which composes some messages, and has other parameters in some subclasses.
        return _create_empty, (type(self),), {**self.__dict__, "args": self.args}


def _create_empty(cls: type[MastheadError]) -> MastheadError:
    """Create an error without its constructor; pickle then sets the attributes."""
    return cls.__new__(cls)


class ArgumentError(MastheadError, ValueError):
    """A value that the API's grammar does not allow.

    Attributes:
        value: The invalid value.
    """

    def __init__(self, message: str, *, value: object = None) -> None:
        super().__init__(message)
        self.value = value

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle message and attributes; a value that cannot be pickled, such as a client, as its repr."""
        function, arguments, state = super().__reduce__()
        return function, arguments, {**cast("dict[str, object]", state), "value": _to_picklable(self.value)}


def _to_picklable(value: object) -> object:
    """Return a value, or its repr if it cannot be pickled."""
    # Few programs pickle errors, and all import this module.
    import pickle

    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - whatever a foreign class raises
        return repr(value)
    return value


class DecodeError(ArgumentError):
    """Bytes or data that do not decode to the expected type.

    Attributes:
        kind: The kind that was expected, such as ``Pod``.
        subject: The object as ``namespace/name``, if that could be decoded.
        path: The field at fault, such as ``spec.containers[0].ports``; empty for the whole object.
        problem: The problem with that field.
    """

    def __init__(self, problem: str, *, kind: str = "", subject: str = "", path: str = "") -> None:
        # Servers and users choose these texts, so that the message is made printable as a whole.
        where = " ".join(part for part in (kind, f'"{subject}"' if subject else "") if part)
        super().__init__(printable(": ".join(part for part in (where, path, problem) if part)))
        self.kind = kind
        self.subject = subject
        self.path = path
        self.problem = problem


class QuantityError(ArgumentError):
    """Not a quantity such as ``500m`` or ``128Mi``."""


class TimeError(ArgumentError):
    """Not an RFC 3339 time, or a ``datetime`` without a time zone."""


class SelectorError(ArgumentError):
    """Not a label or field selector."""


class NameFormatError(ArgumentError):
    """A name, label or annotation key that the API refuses."""


class AlreadyControlledError(ArgumentError):
    """The object already has a controller."""


class UnknownKindError(MastheadError, LookupError):
    """No class or resource is known for that kind, resource or class."""


class CustomResourceError(MastheadError, TypeError):
    """A class without a valid CustomResourceDefinition.

    Attributes:
        path: The field at fault, such as ``Website.spec.replicas``; the class itself if no single field is at fault.
        problem: The problem with that field.
    """

    def __init__(self, problem: str, *, path: str = "") -> None:
        super().__init__(": ".join(part for part in (path, problem) if part))
        self.path = path
        self.problem = problem


class GenerateError(MastheadError):
    """A schema from which no types can be generated."""


class ConfigError(MastheadError):
    """The kubeconfig or in-cluster configuration is missing or invalid."""


class AuthError(MastheadError):
    """A credential is missing, invalid or could not be renewed."""


class TransportError(MastheadError):
    """No usable response came from the server.

    Attributes:
        verb: The HTTP method; empty if no request was in flight.
        url: The path of the request, without host or query.
        attempts: The number of attempts.
    """

    def __init__(self, message: str, *, verb: str = "", url: str = "", attempts: int = 1) -> None:
        super().__init__(message)
        self.verb = verb
        self.url = url
        self.attempts = attempts


class ConnectError(TransportError):
    """The connection failed."""


class CertificateError(ConnectError):
    """The TLS handshake failed because a certificate was rejected. A retry does not help."""


class DeadlineError(TransportError, TimeoutError):
    """No response came before the deadline."""


class ProtocolError(TransportError):
    """The response was truncated, or is not HTTP."""


class ResponseTooLargeError(TransportError):
    """The response is larger than ``max_response_bytes``. A retry does not help."""


class ClosedError(MastheadError):
    """The client, informer or stream is closed and cannot be used again."""


class QueueClosedError(ClosedError):
    """The work queue is closed and empty."""


class InformerStateError(MastheadError, RuntimeError):
    """The operation is possible only before an informer or factory starts, or only while it runs."""


class IndexConflictError(ArgumentError):
    """An indexer with that name exists already; nothing was added."""


class UnknownIndexError(MastheadError, LookupError):
    """No indexer has that name."""


class SnapshotError(MastheadError):
    """A cache snapshot cannot be written or read."""


class RecordingError(MastheadError):
    """A recording of a cluster cannot be written or read."""


class MutationError(MastheadError):
    """Objects of a cache were modified. They are shared: copy an object before changing it.

    Attributes:
        keys: The keys of those objects.
    """

    def __init__(self, message: str, *, keys: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.keys: tuple[str, ...] = tuple(keys)


class InconsistentListError(MastheadError):
    """Two lists of a collection at the same resource version differ."""


class ObjectFailedError(MastheadError):
    """An awaited object, such as a job, has failed and will not become ready."""


class ReconcileError(MastheadError):
    """The base class of errors with which a reconcile controls its retries."""


class PermanentError(ReconcileError):
    """Raised by a reconcile that would fail again in the same way: it runs again only after a change."""


class TemporaryError(ReconcileError):
    """Raised by a reconcile that asks for a retry after a delay, instead of the backoff.

    Attributes:
        delay: Seconds until the retry.

    Raises:
        ArgumentError: If `delay` is not a number of seconds from 0 on.
    """

    def __init__(self, message: str, *, delay: float = 10.0) -> None:
        # A bool is an int to Python, and delay=True is a mistake.
        is_number = isinstance(cast("object", delay), int | float) and not isinstance(delay, bool)
        if not is_number or not 0 <= delay < float("inf"):
            raise ArgumentError(f"delay is {delay!r}; it must be a number of seconds, 0 or more", value=delay)
        super().__init__(message)
        self.delay = delay


class StaleObjectError(ReconcileError):
    """The reconciled object was changed, deleted or replaced by a namesake, and the cache does not show it yet.

    A child to delete may have changed as well. Nothing was written. The reconcile runs again after a backoff, or when
    the cache has caught up.
    """


class NotCachedError(MastheadError, LookupError):
    """A controller reads a kind from the cache without having declared it."""


class ManagerStateError(MastheadError, RuntimeError):
    """The operation is possible only before a manager runs, or only while it runs."""


class LeadershipLostError(MastheadError):
    """The leadership of an election is over, and its work must stop."""


class ManifestError(MastheadError):
    """Manifests could not be read, applied or deleted.

    Attributes:
        problems: The problems found before anything was sent, each with its file and document. Empty if a request
            failed; that error is the cause.
        done: The objects that were applied or deleted before the failure, in order.
    """

    def __init__(self, message: str, *, problems: Sequence[str] = (), done: Sequence[Unstructured] = ()) -> None:
        super().__init__(message)
        self.problems: tuple[str, ...] = tuple(problems)
        self.done: tuple[Unstructured, ...] = tuple(done)
