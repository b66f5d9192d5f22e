"""A call as it goes to the transport: what all of its attempts have in common is computed once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta.secret import Secret
from masthead._rest.call import Call
from masthead._rest.headers import merge_headers
from masthead._rest.paths import encode_target
from masthead._transport.contract import TransportRequest

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

__all__ = ["PreparedCall", "prepare_call"]

_NO_NAMES: Final[AbstractSet[str]] = frozenset()


class PreparedCall(msgspec.Struct, frozen=True):
    """A call, and its request without the ``Authorization`` header.

    Attributes:
        call: The call.
        target: The escaped path and query.
        headers: All headers but the client's own ``Authorization``.
        has_authorization: Whether the call brings an ``Authorization`` header, which replaces the client's credentials.
        accepts_not_modified: Whether the call has an ``If-None-Match`` header, so that a 304 is a success.
        read_timeout: The read timeout of a stream; None for a call whose response is read whole.
        is_upgrade: Whether the headers ask for another protocol.
    """

    call: Call
    target: str
    headers: Sequence[tuple[str, str | Secret]]
    has_authorization: bool
    accepts_not_modified: bool
    read_timeout: float | None
    is_upgrade: bool

    @property
    def is_stream(self) -> bool:
        """Whether the body is read as it arrives."""
        return self.read_timeout is not None

    def to_request(self, authorization: Secret, left: float) -> TransportRequest:
        """Build the request of an attempt.

        Args:
            authorization: The client's ``Authorization`` header; empty for none.
            left: The seconds left for the call.
        """
        headers = [*self.headers, ("Authorization", authorization)] if authorization else self.headers
        # A stream has no deadline as a whole: it may go on for as long as bytes arrive.
        timeout = None if self.read_timeout is not None or left == math.inf else left
        return TransportRequest(
            self.call.method, self.target, headers, self.call.body, timeout, self.read_timeout, self.is_upgrade
        )


def prepare_call(
    call: Call, client_headers: Sequence[tuple[str, str]], read_timeout: float | None, *, is_upgrade: bool = False
) -> PreparedCall:
    """Prepare a call.

    Args:
        call: The call.
        client_headers: The headers of every call.
        read_timeout: The read timeout of a stream, perhaps infinite; None for a call whose response is read whole.
        is_upgrade: Whether the headers ask for another protocol.

    Raises:
        ArgumentError: If the query cannot be encoded.
    """
    # Scanned once for all decisions below, and for all attempts.
    names = {name.lower() for name, _ in call.headers} if call.headers else _NO_NAMES
    headers = merge_headers(client_headers, call.headers, names) if names else [*client_headers]
    if call.body is not None and "content-type" not in names:
        headers.append(("Content-Type", call.content_type))
    if "accept" not in names:
        headers.append(("Accept", call.accept))
    return PreparedCall(
        call,
        encode_target(call.path, call.query) if call.query else call.path,
        headers,
        "authorization" in names,
        "if-none-match" in names,
        read_timeout,
        is_upgrade,
    )
