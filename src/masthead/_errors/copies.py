"""The error of copies to and from containers."""

from __future__ import annotations

from masthead._errors.base import MastheadError

__all__ = ["CopyError"]


class CopyError(MastheadError):
    """Files could not be copied to or from a container, or not all of them.

    Attributes:
        path: The file at fault, in the container or local; empty if no single file is at fault.
        exit_code: The exit code of the command in the container; None if something else failed.
        stderr: The stderr of the command; at least its end.
        skipped: Files of a directory that were not copied, while all others were.
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
