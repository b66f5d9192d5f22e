"""Continue tokens of lists."""

from __future__ import annotations

import base64
import posixpath
from typing import Final, Self

import msgspec

from masthead._meta import typeinfo
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.go_base64 import decode_base64
from masthead_server.wire.go_scanner import problem_with

__all__ = ["ContinueToken", "expired"]

_VERSION: Final = "meta.k8s.io/v1"
_WHATEVER_MOMENT: Final = -1


class ContinueToken(msgspec.Struct, frozen=True):
    """The contents of a continue token, with kube-apiserver's names.

    Attributes:
        v: The version of the format.
        rv: The revision of the list; -1 for the newest.
        start: The key at which the next page begins.
    """

    v: str = ""
    rv: int = 0
    start: str = ""

    @classmethod
    def leading_to(cls, revision: int, start: str) -> Self:
        """Make the token of a page that begins at a key."""
        return cls(_VERSION, revision, start)

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse a token.

        Raises:
            StatusFailure: If it is invalid.
        """
        try:
            decoded = decode_base64(text, is_url=True)
        except ValueError as error:
            raise _refusal(f": {error}") from None
        try:
            token = typeinfo.decode_json(decoded, cls)
        except (msgspec.DecodeError, ValueError):
            raise _refusal(f": {problem_with(decoded)}") from None
        if problem := token.problem:
            raise _refusal(f": {problem}")
        return token

    @property
    def problem(self) -> str:
        """The message about an invalid token; empty if it is valid."""
        if self.v != _VERSION:
            return f"server does not recognize this encoded version {self.v}"
        if self.rv == 0:
            return f"incorrect encoded start resourceVersion (version {_VERSION})"
        if not self.start:
            return f"encoded start key empty (version {_VERSION})"
        key = self.start if self.start.startswith("/") else f"/{self.start}"
        # A token must not lead out of its resource.
        return self.start if posixpath.normpath(key) != key else ""

    @property
    def text(self) -> str:
        """The encoded token."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).rstrip(b"=").decode("ascii")


def expired(token: ContinueToken | None) -> StatusFailure:
    """The failure of a list whose version has expired; that of a token has one for the newest version."""
    if token is None:
        return StatusFailure(410, "Expired", "The resourceVersion for the provided list is too old.")
    return StatusFailure(
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        metadata={"continue": ContinueToken.leading_to(_WHATEVER_MOMENT, token.start.removeprefix("/")).text},
    )


def _refusal(problem: str) -> StatusFailure:
    return bad_request(f"invalid continue token: continue key is not valid{problem}")
