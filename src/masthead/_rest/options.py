"""The options of raw requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import msgspec

from masthead._meta.secret import Secret
from masthead._module import set_module

__all__ = ["RequestOptions", "RequestParameters"]


@set_module("masthead.rest")
class RequestOptions(TypedDict, total=False):
    """The options of a request to any path.

    Attributes:
        query: Query parameters, not escaped.
        headers: Additional headers. A secret value, such as another ``Authorization``, can be a
            `masthead.auth.Secret`, which is hidden in tracebacks. A proxied request takes no ``Authorization``, which
            would replace the client's own credential.
        timeout: Timeout of the whole call in seconds, or of a stream until the response begins; None for the client's
            default.
    """

    query: Mapping[str, str] | None
    headers: Mapping[str, str | Secret] | None
    timeout: float | None


class RequestParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a request, as the verbs pass them on; see `RequestOptions`."""

    query: Mapping[str, str] | None = None
    headers: Mapping[str, str | Secret] | None = None
    timeout: float | None = None
