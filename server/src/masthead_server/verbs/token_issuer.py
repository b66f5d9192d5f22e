"""The issuer of service-account tokens describes itself: OpenID discovery, and the keys that verify its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.authentication.service_accounts import ISSUER
from masthead_server.verbs.routing import not_allowed
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.request import JSON_TYPE, ApiResponse

if TYPE_CHECKING:
    from masthead_server.authentication.service_accounts import ServiceAccountTokens
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest

__all__ = ["describe_issuer"]

_CONFIGURATION: Final = "/.well-known/openid-configuration"
_KEYS: Final = "/openid/v1/jwks"
_KEYS_TYPE: Final = "application/jwk-set+json"
_CACHED: Final = (("Cache-Control", "public, max-age=3600"),)


def describe_issuer(request: ApiRequest, accounts: ServiceAccountTokens, url: str) -> ApiResponse | None:
    """Respond to a request about the issuer; None if the path is about something else.

    Args:
        request: The request.
        accounts: Issues the tokens.
        url: The URL of the server, for TLS.

    Raises:
        StatusFailure: If the method is not allowed, or the client does not accept the media type.
    """
    path = request.path.rstrip("/")
    if path not in {_CONFIGURATION, _KEYS}:
        return None
    if request.method != "GET":
        raise not_allowed()
    content_type = JSON_TYPE if path == _CONFIGURATION else _KEYS_TYPE
    _check_accepts(request, content_type)
    keys = accounts.public_keys()
    body = {"keys": keys} if path == _KEYS else _describe(keys, url)
    return ApiResponse(200, msgspec.json.encode(body), content_type, _CACHED)


def _describe(keys: list[Plain], url: str) -> Plain:
    return {
        "issuer": ISSUER,
        "jwks_uri": f"{url}{_KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({key["alg"] for key in keys}),
    }


def _check_accepts(request: ApiRequest, content_type: str) -> None:
    accept = request.headers.get("accept", "")
    types = {clause.partition(";")[0].strip() for clause in accept.split(",", 100)}
    if accept and types.isdisjoint({content_type, "*/*"}):
        message = f"406: Not Acceptable\n\nAvailable representations: {content_type}"
        raise StatusFailure(406, "NotAcceptable", message, details={})
