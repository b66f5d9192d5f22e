"""Tokens among the protocols of a WebSocket: the only place where a web page can put one."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.authentication.jwt import InvalidTokenError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PROTOCOL_HEADER", "ProtocolToken", "mask_protocol_token", "read_protocol_token"]

PROTOCOL_HEADER: Final = "sec-websocket-protocol"
_PREFIX: Final = "base64url.bearer.authorization.k8s.io."
_SHOWN: Final = re.compile(rf"({re.escape(_PREFIX)})[^,\s]+")
_ENCODED: Final = re.compile(r"[A-Za-z0-9_-]*")


class ProtocolToken(NamedTuple):
    """A token, and the other protocols of the request."""

    token: bytes
    protocols: list[str]


def read_protocol_token(values: Iterable[str]) -> ProtocolToken | None:
    """Return the token in the header of the protocols; None without a token.

    Args:
        values: The values of the header.

    Raises:
        InvalidTokenError: If it cannot be read, or is the only protocol.
    """
    tokens: list[bytes] = []
    others: list[str] = []
    for protocol in (protocol.strip() for value in values for protocol in value.split(",")):
        if not protocol.startswith(_PREFIX):
            others.append(protocol)
        elif tokens:
            raise InvalidTokenError("multiple base64.bearer.authorization tokens specified")
        else:
            tokens.append(_decode(protocol.removeprefix(_PREFIX)))
    if not tokens or not tokens[0]:
        return None
    # Browsers fail if the server selects no protocol, and the token itself must not be selected.
    if not others:
        raise InvalidTokenError("missing additional subprotocol")
    return ProtocolToken(tokens[0], others)


def mask_protocol_token(value: str) -> str:
    """Mask the token in a value of the header."""
    return _SHOWN.sub(r"\1REDACTED", value)


def _decode(text: str) -> bytes:
    problem = "invalid base64.bearer.authorization token"
    if not _ENCODED.fullmatch(text):
        raise InvalidTokenError(f"{problem} encoding")
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        # A bearer token is text.
        decoded.decode()
    except ValueError:
        raise InvalidTokenError(problem) from None
    return decoded
