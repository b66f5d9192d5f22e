"""The error of copies to and from containers."""

from __future__ import annotations

from masthead._errors.base import MastheadError

__all__ = ["CopyError"]


class CopyError(MastheadError):
    """Files could not be copied to or from a container, or not all of them.

    Attributes:
        path: The file at fault: in the container or, if that is where it is, local; empty if it is about all.
        exit_code: The exit code of the command in the container; None if that is not what failed.
        stderr: What the command printed to stderr, its end at least.
        skipped: What was not copied of a directory, while all else was.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str = "",
        exit_code: int | None = None,
        stderr: bytes = b"",
        skipped: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.path = path
        self.exit_code = exit_code
        self.stderr = stderr
        self.skipped = skipped
