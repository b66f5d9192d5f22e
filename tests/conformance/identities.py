"""Users for cases: their tokens, the tokens of service accounts, and what those claim."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.conformance.api import Api, CallResponse, Plain

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
_TIMES = ("exp", "nbf", "iat")
_PAUSE = 15
"""Requests that give the informers of the real server the time to see what was written before."""


def bearer(token: str) -> dict[str, str]:
    """The header of a request with a token."""
    return {"Authorization": f"Bearer {token}"}


def as_user(name: str) -> dict[str, str]:
    """The header of a request of a user of the token file."""
    return bearer(f"{name}-token")


def who_am_i(api: Api, headers: dict[str, str]) -> CallResponse:
    """Ask the server who sends a request."""
    return api.request("POST", SELF, {}, headers=headers)


def review(api: Api, token: str, *audiences: str) -> CallResponse:
    """Have a token reviewed."""
    spec: Plain = {"token": token, "audiences": list(audiences)} if audiences else {"token": token}
    return api.request("POST", TOKEN_REVIEWS, {"spec": spec})


def account(api: Api, name: str = "robot") -> str:
    """Create a service account; return its uid."""
    _, made = api.quietly("POST", api.path("serviceaccounts"), {"metadata": {"name": name}})
    api.remove_at_the_end(api.path("serviceaccounts", name))
    return str(made.get("metadata", {}).get("uid", ""))


def request_token(api: Api, name: str = "robot", **spec: Any) -> str:
    """Request a token, and return it."""
    made = api.create("serviceaccounts", {"spec": spec}, f"{name}/token")
    return _token_in(made.body)


def quiet_token(api: Api, name: str = "robot", **spec: Any) -> str:
    """Request a token outside of the case."""
    _, made = api.quietly("POST", api.path("serviceaccounts", f"{name}/token"), {"spec": spec})
    return _token_in(made)


def show_claims(api: Api, token: str) -> None:
    """Record the claims of a token, with times as differences."""
    claims = decode_claims(token)
    start = claims.get("iat", 0)
    for name in _TIMES:
        if name in claims:
            claims[name] -= start
    private = claims.get("kubernetes.io", {})
    if "warnafter" in private:
        private["warnafter"] -= start
    api.show("the claims of the token", claims)


def decode_claims(token: str) -> Any:
    """Decode the claims of a token, unverified."""
    parts = token.split(".")
    return json.loads(_decode(parts[1])) if len(parts) == 3 else {}


def alter(token: str, *, header: Plain | None = None, claims: Plain | None = None, signature: str | None = None) -> str:
    """Return a token with other parts and the old signature, or another."""
    head, payload, signed = token.split(".")
    if header is not None:
        head = encode_part({**json.loads(_decode(head)), **header})
    if claims is not None:
        payload = encode_part({**json.loads(_decode(payload)), **claims})
    return ".".join((head, payload, signed if signature is None else signature))


def encode_part(value: object) -> str:
    """Encode a part of a token."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def settle(api: Api) -> None:
    """Let the informers of the real server catch up."""
    for _ in range(_PAUSE):
        api.quietly("GET", api.path("configmaps"))


def _token_in(made: Plain) -> str:
    status = made.get("status")  # a failure has a text there
    return str(status.get("token", "")) if isinstance(status, dict) else ""


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
