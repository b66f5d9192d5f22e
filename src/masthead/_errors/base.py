"""The root of all errors, and the errors that arise on the client's side: no response from a server is involved."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.unstructured import Unstructured

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
"""What a terminal obeys: colours, movements, titles."""


def printable(text: str) -> str:
    """A text of somebody else's, as it can go to a terminal or into a log: no escapes, no control characters.

    Lines stay lines, but are indented from the second on: none can pass for a line of our own.
    """
    if text.isprintable():
        return text
    lines = _ESCAPES.sub("", text).splitlines()
    return "\n  ".join("".join([each if each.isprintable() else " " for each in line]) for line in lines)


class MastheadError(Exception):
    """The root: ``except MastheadError`` catches everything of ours and nothing else."""


class InvalidValueError(MastheadError, ValueError):
    """A value that the API's own grammar refuses.

    Attributes:
        value: What was given.
    """

    def __init__(self, message: str, *, value: object = None) -> None:
        super().__init__(message)
        self.value = value


class DecodeError(InvalidValueError):
    """Bytes or data that are not the object they should be.

    Attributes:
        kind: The kind that was expected, such as ``Pod``.
        subject: Which object it was, as ``namespace/name``, where that could still be read.
        path: The field at fault, such as ``spec.containers[0].ports``; empty for the whole object.
        problem: What is wrong with it.
    """

    def __init__(self, problem: str, *, kind: str = "", subject: str = "", path: str = "") -> None:
        where = " ".join(part for part in (kind, f'"{subject}"' if subject else "") if part)
        super().__init__(printable(": ".join(part for part in (where, path, problem) if part)))
        self.kind = kind
        self.subject = subject
        self.path = path
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by parts; the default would take the whole message for the problem."""
        return _restore_decode_error, (self.problem, self.kind, self.subject, self.path)


def _restore_decode_error(problem: str, kind: str, subject: str, path: str) -> DecodeError:
    return DecodeError(problem, kind=kind, subject=subject, path=path)


class QuantityError(InvalidValueError):
    """Not a quantity such as ``500m`` or ``128Mi``."""


class TimeError(InvalidValueError):
    """Not an RFC 3339 time, or a ``datetime`` without a time zone."""


class SelectorError(InvalidValueError):
    """Not a label or field selector."""


class NameFormatError(InvalidValueError):
    """A name, label or annotation key that the API refuses."""


class AlreadyControlledError(InvalidValueError):
    """Another owner manages the object."""


class UnknownKindError(MastheadError, LookupError):
    """Nothing is registered under that kind, resource or class."""


class GenerateError(MastheadError):
    """A schema that no types can be made from."""


class ConfigError(MastheadError):
    """Where the cluster is, and how to reach it, could not be found out."""


class AuthError(MastheadError):
    """Who we are could not be shown: a credential is missing, broken or could not be renewed."""


class TransportError(MastheadError):
    """No usable answer came from the server.

    Attributes:
        verb: The HTTP method, or empty when no request was under way.
        url: The path that was asked for, without host or query.
        attempts: How often it was tried.
    """

    def __init__(self, message: str, *, verb: str = "", url: str = "", attempts: int = 1) -> None:
        super().__init__(message)
        self.verb = verb
        self.url = url
        self.attempts = attempts


class ConnectError(TransportError):
    """No connection could be made."""


class CertificateError(ConnectError):
    """No connection could be made, because one side's certificate is not the right one; another attempt will not help."""


class DeadlineError(TransportError, TimeoutError):
    """No answer came in time."""


class ProtocolError(TransportError):
    """The answer was cut short or is not HTTP."""


class ResponseTooLargeError(TransportError):
    """The answer is larger than the client takes (``max_response_bytes``); another attempt will not help."""


class ClosedError(MastheadError):
    """The client, informer or stream has been closed and cannot be used again."""


class InformerStateError(MastheadError, RuntimeError):
    """An informer or factory is asked for something that is possible only before it starts, or only once it runs."""


class IndexConflictError(InvalidValueError):
    """An index of that name is there already; nothing was added."""


class UnknownIndexError(MastheadError, LookupError):
    """There is no index of that name."""


class SnapshotError(MastheadError):
    """A snapshot of a cache cannot be written, or cannot be read."""


class MutationError(MastheadError):
    """Objects of a cache, which are shared, were changed by somebody who should have copied them.

    Attributes:
        keys: Which.
    """

    def __init__(self, message: str, *, keys: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.keys = tuple(keys)


class InconsistentListError(MastheadError):
    """The same version of a collection, read in two ways, is not the same."""


class ManifestError(MastheadError):
    """Manifests could not be read, applied or deleted.

    Attributes:
        problems: What is wrong, each with its file and document; nothing was sent then. Empty if a call failed, which
            is the error's cause.
        done: What was applied or deleted before, in that order.
    """

    def __init__(
        self, message: str, *, problems: Sequence[str] = (), done: Sequence[Unstructured] = ()
    ) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        self.done = tuple(done)
