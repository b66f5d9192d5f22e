"""OpenID Connect: an ID token, and its renewal with a refresh token."""

from __future__ import annotations

import base64
import ipaddress
import logging
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec

from masthead._auth.redaction import redact, secret_dec_hook
from masthead._auth.renewal import RenewalLock, renewal_time, run_to_completion
from masthead._auth.tokens import bearer
from masthead._meta import typeinfo
from masthead._meta.secret import Secret, SecretValue, reveal
from masthead._module import set_module
from masthead.errors import AuthError, MastheadError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._auth.credentials import Certificate

__all__ = ["OidcFetch", "OidcSave", "OidcToken", "expiry_of"]

OidcResponse: TypeAlias = "tuple[int, SecretValue[bytes]]"
"""Status and body."""
OidcFetch: TypeAlias = (
    "Callable[[str, str, Mapping[str, str | Secret], SecretValue[bytes] | None], Awaitable[OidcResponse]]"
)
"""Sends method, URL, headers and body; returns status and body. Does not follow redirects."""
OidcSave: TypeAlias = "Callable[[Secret, Secret], Awaitable[None]]"
"""Receives the new ID token and refresh token, and writes them back to the kubeconfig."""

_log: Final = logging.getLogger("masthead.auth")

_DOCUMENT: Final = "/.well-known/openid-configuration"
_BASIC: Final = "client_secret_basic"
_JSON: Final = {"Accept": "application/json"}
_FORM: Final = {**_JSON, "Content-Type": "application/x-www-form-urlencoded"}
_EXPLANATION_SHOWN: Final = 300
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

_T = TypeVar("_T")


class _Claims(msgspec.Struct):
    exp: float | None = None


class _ProviderMetadata(msgspec.Struct):
    """The provider's discovery document. The default authentication method is the specification's."""

    issuer: str
    token_endpoint: str
    token_endpoint_auth_methods_supported: list[str] = msgspec.field(default_factory=lambda: [_BASIC])


class _TokenResponse(msgspec.Struct):
    id_token: Secret | None = None
    refresh_token: Secret | None = None


class _TokenErrorResponse(msgspec.Struct):
    error: str = ""
    error_description: str = ""


def expiry_of(token: Secret) -> datetime | None:
    """Return when a JSON Web Token expires; None if it has no ``exp``. The signature is not verified.

    Raises:
        ValueError: If it is not a JSON Web Token. The message does not contain the token.
    """
    if token.reveal().count(".") != 2:
        raise ValueError("a token of three parts was expected")
    try:
        end = _claims_of(token).exp
        return None if end is None else datetime.fromtimestamp(end, UTC)
    except (ValueError, OverflowError, OSError, RecursionError):
        # The error is raised below, outside the handler: as its context, this one could show parts of the
        # token.
        pass
    raise ValueError("the token's second part is not what it should be")


def _claims_of(token: Secret) -> _Claims:
    payload = token.reveal().strip().split(".")[1]
    return typeinfo.decode_json(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), _Claims)


@set_module("masthead.auth")
class OidcToken:
    """Sends an ID token, and renews it shortly before it expires or when the server rejects it.

    Guarantees: one renewal at a time, shared by all waiting callers. An expired token is not sent, unless the issuer
    issued it expired: then clocks differ, and it is used until the server rejects it. If renewal fails, the waiting
    callers get an AuthError, and the next call tries again.

    Cancellation: a renewal is cancelled with the caller that started it. As a refresh token may be valid for one use
    only, an exchange that has started is completed and its tokens are stored before the cancellation propagates.

    Threads: belongs to one event loop.

    Args:
        issuer: The issuer's URL. It must be https or on this machine, because secrets are sent there.
        client_id: The OAuth client id.
        client_secret: The OAuth client secret; may be empty.
        id_token: The current ID token; may be empty if there is a refresh token.
        refresh_token: The refresh token; may be empty.
        fetch: Sends an HTTP request.
        now: The current time, with a time zone.
        save: Writes new tokens back; None to keep them in memory. A failure is logged, and the tokens are used.
    """

    def __init__(
        self,
        issuer: str,
        client_id: str,
        client_secret: Secret,
        id_token: Secret,
        refresh_token: Secret,
        *,
        fetch: OidcFetch,
        now: Callable[[], datetime],
        save: OidcSave | None = None,
    ) -> None:
        self._issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._id_token = id_token
        self._refresh_token = refresh_token
        self._fetch = fetch
        self._now = now
        self._save = save
        self._found: _ProviderMetadata | None = None
        self._renewal_lock = RenewalLock()
        self._renew_at = _renewal_of(id_token, _LONG_AGO)

    def __repr__(self) -> str:
        return f"OidcToken({self._issuer!r})"

    async def authorization(self) -> Secret:
        """The token.

        Raises:
            AuthError: If it has expired or is invalid, and cannot be renewed.
        """
        if not self._is_fresh():
            await self._renewal_lock.run(partial(self._replace, self._id_token))
        return self._current()

    async def certificate(self) -> Certificate | None:
        """Always None."""
        return None

    async def renew(self, refused: Secret) -> bool:
        """Renew the token, unless that happened since; return False if there is no refresh token.

        Raises:
            AuthError: If renewal fails.
        """
        if self._id_token and self._current() != refused:
            return True
        if not self._refresh_token:
            return False
        await self._renewal_lock.run(partial(self._replace, self._id_token))
        return self._current() != refused

    def _current(self) -> Secret:
        return bearer(self._id_token, f"issuer {self._issuer}")

    def _is_fresh(self) -> bool:
        return self._renew_at is None or self._now() < self._renew_at

    async def _replace(self, old: Secret) -> None:
        """Replace the ID token, unless it was replaced since.

        Raises:
            AuthError: If there is no refresh token, or the issuer cannot be reached, rejects it, or responds invalidly.
        """
        if self._id_token != old:  # replaced by an exchange whose caller was cancelled
            return
        if not self._refresh_token:
            problem = "has expired or is invalid," if self._id_token else "is missing,"
            raise AuthError(
                f"the id token of issuer {self._issuer} {problem} and there is no refresh token; log in again"
            )
        found = await self._discover()
        await run_to_completion(self._exchange(found))

    async def _exchange(self, found: _ProviderMetadata) -> None:
        headers, form = self._client_proof(found)
        form |= {"grant_type": "refresh_token", "refresh_token": self._refresh_token}
        body = await self._request("POST", found.token_endpoint, headers, _encode(form))
        grant = self._decode(body, _TokenResponse, "the token response")
        if not grant.id_token:
            raise AuthError(
                f"issuer {self._issuer} took the refresh token but gave no id_token; log in again with scope openid"
            )
        await self._take(grant.id_token, grant.refresh_token or self._refresh_token)

    async def _take(self, id_token: Secret, refresh_token: Secret) -> None:
        """Use new tokens and save them: the old refresh token may be invalid now.

        Raises:
            AuthError: If no header can carry the token.
        """
        bearer(id_token, f"issuer {self._issuer}")
        self._id_token, self._refresh_token = id_token, refresh_token
        now = self._now()
        due = _renewal_of(id_token, now)
        # Made just now, and at its end: then it is the clocks that differ, and another would not be better.
        self._renew_at = due if due is None or due > now else None
        if self._save is None:
            return
        try:
            await self._save(id_token, refresh_token)
        except Exception as error:  # noqa: BLE001 - whatever it is, the tokens are good
            message = self._clean(str(error))
            _log.warning(
                "new tokens of issuer %s could not be saved, and are lost when this process ends: %s: %s",
                self._issuer,
                type(error).__name__,
                message,
            )

    async def _discover(self) -> _ProviderMetadata:
        """Fetch the provider's discovery document; cached.

        Raises:
            AuthError: If it cannot be fetched, or the token endpoint would receive the refresh token in plain text.
        """
        if self._found is None:
            # The document names the endpoint that gets the refresh token, so that it must not be forged
            # either.
            self._require_privacy(self._issuer)
            body = await self._request("GET", self._issuer.rstrip("/") + _DOCUMENT, _JSON, None)
            found = self._decode(body, _ProviderMetadata, _DOCUMENT)
            # OpenID Connect requires the two to be equal.
            if found.issuer.rstrip("/") != self._issuer.rstrip("/"):
                raise AuthError(
                    f"issuer {self._issuer} identifies itself as {found.issuer[:200]!r}; correct idp-issuer-url"
                )
            self._require_privacy(found.token_endpoint)
            self._found = found
        return self._found

    def _require_privacy(self, url: str) -> None:
        if not _is_private(url):
            raise AuthError(
                f"issuer {self._issuer} has a token endpoint that is not https, where others could read the refresh "
                "token"
            )

    def _client_proof(self, found: _ProviderMetadata) -> tuple[dict[str, str | Secret], dict[str, str | Secret]]:
        """Return the headers and form fields that authenticate the OAuth client."""
        if self._client_secret and _BASIC in found.token_endpoint_auth_methods_supported:
            # OAuth 2.0 encodes both like a form before it joins them (RFC 6749, section 2.3.1).
            pair = Secret(f"{quote_plus(self._client_id)}:{quote_plus(self._client_secret.reveal())}")
            proof = Secret(f"Basic {base64.b64encode(pair.reveal().encode()).decode()}")
            return {**_FORM, "Authorization": proof}, {}
        form: dict[str, str | Secret] = {"client_id": self._client_id}
        if self._client_secret:
            form["client_secret"] = self._client_secret
        return {**_FORM}, form

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str | Secret], body: SecretValue[bytes] | None
    ) -> SecretValue[bytes]:
        try:
            status, response = await self._fetch(method, url, headers, body)
        except (MastheadError, OSError) as error:
            status, response = 0, SecretValue(b"")
            problem = f"could not be reached for a new token: {self._clean(str(error))}"
        else:
            problem = ""
        if problem:  # raised here, so that the traceback holds no frame with the secrets
            raise AuthError(f"issuer {self._issuer} {problem}")
        if status != 200:
            raise AuthError(
                f"issuer {self._issuer} refused with HTTP {status}: {self._explanation(response)}; log in again if it "
                "stays so"
            )
        return response

    def _explanation(self, response: SecretValue[bytes]) -> str:
        try:
            refusal = typeinfo.decode_json(response.reveal(), _TokenErrorResponse)
        except (ValueError, RecursionError):
            return "no reason given"
        message = " ".join(part for part in (refusal.error, refusal.error_description) if part)
        return self._clean(message) or "no reason given"

    def _decode(self, response: SecretValue[bytes], kind: type[_T], what: str) -> _T:
        try:
            return typeinfo.decode_json(response.reveal(), kind, dec_hook=secret_dec_hook)
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, msgspec.DecodeError) else "it is not UTF-8, or nested too deep"
        raise AuthError(f"{what} of issuer {self._issuer} cannot be read: {why}")

    def _clean(self, message: str) -> str:
        secrets = (secret.reveal() for secret in (self._client_secret, self._id_token, self._refresh_token))
        return redact(message, secrets, limit=_EXPLANATION_SHOWN)


def _encode(form: Mapping[str, str | Secret]) -> SecretValue[bytes]:
    return SecretValue(urlencode([(name, reveal(value)) for name, value in form.items()]).encode())


def _renewal_of(token: Secret, issued_at: datetime) -> datetime | None:
    """Return when to renew a token; None to wait until the server rejects it."""
    try:
        return renewal_time(expiry_of(token), issued_at)
    except ValueError:
        return _LONG_AGO  # not a token: renew immediately


def _is_private(url: str) -> bool:
    """Whether a URL is https or on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return bool(host)
        return parts.scheme == "http" and (host == "localhost" or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False
