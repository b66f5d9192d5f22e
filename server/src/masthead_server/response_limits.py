"""Limits of responses that clients have not read yet. Watches have limits of their own."""

from __future__ import annotations

from typing import Final

__all__ = ["LARGE_RESPONSE", "MAX_RESPONSES_BYTES", "RESPONSE_SECONDS"]

LARGE_RESPONSE: Final = 256 * 1024
"""Bytes of a body that are sent in one piece; a longer one is sent in pieces of this length."""
MAX_RESPONSES_BYTES: Final = 512 * 1024 * 1024
"""Bytes of unsent bodies of all connections, beyond which no large response begins."""
RESPONSE_SECONDS: Final = 60.0
"""Real time for a client to read a piece of a response; kube-apiserver has a minute for all of it."""
