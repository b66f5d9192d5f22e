"""The one error that a peer can cause."""

from __future__ import annotations

from masthead.errors import ProtocolError

__all__ = ["SpdyError"]


class SpdyError(ProtocolError):
    """The peer has broken the protocol, or exceeds a limit. The session cannot be continued."""
