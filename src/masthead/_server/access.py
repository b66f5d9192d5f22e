"""Who is let in: asked before anything but the head of a request has been read."""

from __future__ import annotations

import base64
import secrets
from enum import Enum
from typing import TYPE_CHECKING, Final

from masthead._server.wire.failures import StatusFailure, details_of, qualified, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.hosts import AllowedHosts
    from masthead._server.wire.request import ApiRequest
    from masthead._server.wire.request_info import RequestInfo

__all__ = ["AccessControl"]

_OPEN: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""What anybody may ask."""


class _Proof(Enum):
    """How a client shows that it knows the token."""

    BEARER = "bearer"
    PASSWORD = "password"
    NONE = ""


class AccessControl:
    """Lets requests in, or refuses them.

    Args:
        token: What must be shown; None to let everybody in.
        hosts: By which names the server may be reached without the token.
    """

    def __init__(self, token: str | None, hosts: AllowedHosts) -> None:
        self._token = token.encode() if token is not None else None
        self._hosts = hosts

    def check(
        self, request: ApiRequest, info: RequestInfo, headers: Callable[[str, list[str]], list[str]]
    ) -> bool:
        """Refuse those who may not do what they ask; returns whether what they send may be read.

        A bearer token proves more than names do: no browser sends one by itself. So names are for those who show
        none, because none is needed or because a browser may have remembered it as a password.

        Args:
            request: Its head.
            info: What it is about.
            headers: Gives what all headers of a name say, or else the list that it is given.

        Raises:
            StatusFailure: It is refused.
        """
        is_open = request.path.rstrip("/") in _OPEN
        if self._token is not None:
            proof = self._proof(request)
            if proof is _Proof.BEARER:
                return True
            if proof is _Proof.NONE and is_open:
                return False  # anybody may ask this, but has nothing to send
            if proof is _Proof.NONE:
                raise _anonymous(request, info)
        if not is_open:
            self._hosts.check(headers("Host", []), headers("Origin", []))
        return True

    def _proof(self, request: ApiRequest) -> _Proof:
        shown = request.headers.get("authorization", "")
        scheme, _, token = shown.partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            if self._is_token(_bytes_of(token.strip())):
                return _Proof.BEARER
            raise StatusFailure(401, "Unauthorized", "Unauthorized")
        # A password that is wrong is no password: kube-apiserver does not look at any.
        return _Proof.PASSWORD if self._is_token(_password(shown)) else _Proof.NONE

    def _is_token(self, shown: bytes) -> bool:
        return self._token is not None and secrets.compare_digest(shown, self._token)


def _bytes_of(text: str) -> bytes:
    """A header's bytes, whatever they were: aiohttp hands over what is not UTF-8 as lone surrogates."""
    return text.encode("utf-8", "surrogateescape")


def _password(authorization: str) -> bytes:
    """The password of basic authentication, which is how Go's clients show a token where there is no TLS."""
    scheme, _, shown = authorization.partition(" ")
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(shown.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""


def _anonymous(request: ApiRequest, info: RequestInfo) -> StatusFailure:
    """What somebody is told who shows no token: who that is, and what they may not."""
    user = 'User "system:anonymous" cannot'
    if not info.resource:
        message = f'forbidden: {user} {info.verb} path "{request.path}"'
        return StatusFailure(403, "Forbidden", message, details={})
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    where = f'in the namespace "{info.namespace}"' if info.namespace else "at the cluster scope"
    subject = f"{qualified(info.group, info.resource)}{f' {quoted(info.name)}' if info.name else ''}"
    message = f'{subject} is forbidden: {user} {info.verb} resource "{resource}" in API group "{info.group}" {where}'
    return StatusFailure(403, "Forbidden", message, details=details_of(info.name, info.group, info.resource))
