"""Service-account tokens: what they claim, and whether they are still valid.

A token is valid as long as its account, and the object that it is bound to, exist with the uids in its claims.
"""

from __future__ import annotations

import base64
import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.quoting import quoted
from masthead_server.authentication.impersonation import split_account
from masthead_server.authentication.jwt import BoundObject, Claims, InvalidTokenError, read_issuer, sign_claims, verify
from masthead_server.wire.user_info import UserInfo, add_authenticated_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead_server.authentication.signing_keys import SigningKeyFile
    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain

__all__ = ["API_AUDIENCES", "ISSUER", "LAST_USED_LABEL", "AuthenticatedToken", "ServiceAccountTokens", "account_name"]

ISSUER: Final = "https://kubernetes.default.svc"
"""Who issues tokens."""
API_AUDIENCES: Final = (ISSUER,)
"""The audiences of the server itself."""
_LEGACY_ISSUER: Final = "kubernetes/serviceaccount"
_LEEWAY: Final = timedelta(minutes=1)
LAST_USED_LABEL: Final = "kubernetes.io/legacy-token-last-used"
_INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"
_EXTRA: Final = "authentication.kubernetes.io/"
_INVALIDATED: Final = "service account token has been invalidated"
_GENERATED_WARNING: Final = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated "
    "secret-based tokens."
)


class AuthenticatedToken(NamedTuple):
    """The user of a token."""

    user: UserInfo
    audiences: tuple[str, ...]
    """The audiences that the token and the request have in common."""
    warning: str = ""
    """The warning for the user of the token."""


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None


class _Reference(msgspec.Struct):
    name: str = ""


class _Stored(msgspec.Struct):
    """The fields of a stored object that tokens depend on."""

    metadata: _Metadata
    data: dict[str, str] | None = None
    secrets: list[_Reference] | None = None


def _ignore(_namespace: str, _name: str, _labels: Mapping[str, str]) -> None:
    """No-op."""


def account_name(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


class ServiceAccountTokens:
    """Issues the tokens of service accounts, and authenticates them.

    Args:
        cluster: The cluster state with the accounts and the objects that tokens are bound to.
        keys: The key that signs.
    """

    def __init__(self, cluster: ClusterState, keys: SigningKeyFile) -> None:
        self._cluster = cluster
        self._keys = keys
        self.label_used_secret: Callable[[str, str, Mapping[str, str]], object] = _ignore
        """Labels the Secret of a namespace and name; set by the server, whose client of objects tracks the change."""

    def issue(self, subject: str, private: Plain, audiences: Sequence[str], seconds: int) -> str:
        """Return a token that expires.

        Args:
            subject: The user name of the account.
            private: The claims under ``kubernetes.io``.
            audiences: Who the token is for.
            seconds: The seconds until it expires.
        """
        # The clock of the server, so that tokens expire in virtual time too.
        now = int(self._cluster.clock.now().timestamp())
        claims = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": self._cluster.new_uid(),
            "kubernetes.io": private,
            "nbf": now,
            "sub": subject,
        }
        return sign_claims(claims, self._keys.key)

    def issue_legacy(self, namespace: str, name: str, uid: str, secret: str) -> str:
        """Return a token without expiry, valid until its Secret changes."""
        prefix = "kubernetes.io/serviceaccount/"
        claims = {
            "iss": _LEGACY_ISSUER,
            f"{prefix}namespace": namespace,
            f"{prefix}secret.name": secret,
            f"{prefix}service-account.name": name,
            f"{prefix}service-account.uid": uid,
            "sub": account_name(namespace, name),
        }
        return sign_claims(claims, self._keys.key)

    def public_keys(self) -> list[Plain]:
        """Return the public keys that verify tokens, as JSON Web Keys."""
        public = self._keys.key.public_key()
        return [] if public is None else [public]

    def authenticate(self, token: str, audiences: Sequence[str]) -> AuthenticatedToken | None:
        """Return the user of a token; None if it is no token of a service account.

        Args:
            token: The token.
            audiences: Who wants to know; one of them has to be an audience of the token.

        Raises:
            InvalidTokenError: If it is a token of a service account, and not valid.
        """
        # Before the signature is verified: other authenticators have tokens of their own.
        issuer = read_issuer(token)
        if issuer not in {ISSUER, _LEGACY_ISSUER}:
            return None
        claims = verify(token, self._keys.key)
        if claims is None:
            return None
        # Old tokens name no audience, and are for the API server.
        own = claims.audiences or API_AUDIENCES
        common = tuple(audience for audience in audiences if audience in own)
        if not common:
            shown = f"{_go_strings(own)} is invalid for the target audiences {_go_strings(audiences)}"
            raise InvalidTokenError(f"token audiences {shown}")
        if issuer == _LEGACY_ISSUER:
            user, warning = self._validate_legacy(token, claims)
            return AuthenticatedToken(user, common, warning)
        return AuthenticatedToken(self._validate(claims), common)

    def _validate(self, claims: Claims) -> UserInfo:
        now = self._cluster.clock.now()
        _check_times(claims, now)
        private = claims.kubernetes
        namespace, account = private.namespace, private.serviceaccount
        stored = self._find("serviceaccounts", namespace, account.name)
        if stored is None:
            raise InvalidTokenError(f"serviceaccounts {quoted(account.name)} not found")
        # An account of the same name that was created later is another one.
        if stored.metadata.uid != account.uid:
            problem = f"service account UID ({stored.metadata.uid}) does not match claim ({account.uid})"
            raise InvalidTokenError(problem)
        # Clients of a deleted account have a moment to finish, as with kube-apiserver.
        deleted_before = now - _LEEWAY
        if _is_deleted(stored, deleted_before):
            raise InvalidTokenError(f"service account {namespace}/{account.name} has been deleted")
        if private.secret is not None:
            self._check_bound("secret", private.secret, namespace, deleted_before)
        extra: dict[str, tuple[str, ...]] = {}
        if private.pod is not None:
            self._check_bound("pod", private.pod, namespace, deleted_before)
            extra |= _extra_of("pod", private.pod)
        if claims.jti:
            extra[f"{_EXTRA}credential-id"] = (f"JTI={claims.jti}",)
        if private.node is not None:
            # The node of a pod is information, not a binding.
            if private.pod is None:
                self._check_bound("node", private.node, "", deleted_before)
            extra |= _extra_of("node", private.node)
        return _user_of(namespace, account.name, account.uid, extra)

    def _check_bound(self, kind: str, claimed: BoundObject, namespace: str, deleted_before: datetime) -> None:
        """Check that an object exists as claimed.

        Raises:
            InvalidTokenError: If it does not.
        """
        stored = self._find(f"{kind}s", namespace, claimed.name)
        if stored is None:
            raise InvalidTokenError(_INVALIDATED)
        uid = stored.metadata.uid
        if uid != claimed.uid:
            problem = f"{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed.uid})"
            raise InvalidTokenError(problem)
        if _is_deleted(stored, deleted_before):
            raise InvalidTokenError(_INVALIDATED)

    def _validate_legacy(self, token: str, claims: Claims) -> tuple[UserInfo, str]:
        """Return the user of a token from a Secret, and the warning for it."""
        _check_legacy_claims(claims)
        namespace, name, uid = claims.legacy_namespace, claims.legacy_account, claims.legacy_uid
        secret = self._find("secrets", namespace, claims.legacy_secret)
        if secret is None or secret.metadata.deletion_timestamp is not None:
            raise InvalidTokenError("Token has been invalidated")
        if not secrets.compare_digest(_decode((secret.data or {}).get("token", "")), token.encode()):
            raise InvalidTokenError("Token does not match server's copy")
        account = self._find("serviceaccounts", namespace, name)
        if account is None:
            raise InvalidTokenError(f"serviceaccounts {quoted(name)} not found")
        if account.metadata.deletion_timestamp is not None:
            raise InvalidTokenError(f"ServiceAccount {namespace}/{name} has been deleted")
        if account.metadata.uid != uid:
            raise InvalidTokenError(f"ServiceAccount UID ({account.metadata.uid}) does not match claim ({uid})")
        self._mark_used(namespace, claims.legacy_secret, secret)
        if _label(secret, _INVALID_SINCE):
            shown = f"{namespace}/{claims.legacy_secret} for service account {namespace}/{name}"
            raise InvalidTokenError(
                f"the token in secret {shown} has been marked invalid. Use tokens from the TokenRequest API or "
                f"manually created secret-based tokens, or remove the '{_INVALID_SINCE}' label from the secret to "
                "temporarily allow use of this token"
            )
        is_generated = any(reference.name == claims.legacy_secret for reference in account.secrets or ())
        return _user_of(namespace, name, uid, {}), _GENERATED_WARNING if is_generated else ""

    def _mark_used(self, namespace: str, name: str, secret: _Stored) -> None:
        """Label a Secret with the day of the last use of its token, as kube-apiserver does."""
        now = self._cluster.clock.now()
        today, tomorrow = (f"{day:%Y-%m-%d}" for day in (now, now + timedelta(days=1)))
        if _label(secret, LAST_USED_LABEL) in {today, tomorrow}:
            return
        self.label_used_secret(namespace, name, {LAST_USED_LABEL: today})

    def _find(self, resource: str, namespace: str, name: str) -> _Stored | None:
        served = self._cluster.catalog.require(GroupVersionResource("", "v1", resource))
        record = self._cluster.storage.table(served.table).get(served.key(namespace, name))
        return None if record is None else msgspec.convert(served.load(record), _Stored)


def _check_times(claims: Claims, now: datetime) -> None:
    """Check that a token is valid now, give or take a minute.

    Raises:
        InvalidTokenError: If it is not.
    """
    early, late = (now + _LEEWAY).timestamp(), (now - _LEEWAY).timestamp()
    if claims.nbf and early < claims.nbf:
        raise InvalidTokenError("service account token is not valid yet")
    if claims.exp and late > claims.exp:
        raise InvalidTokenError("service account token has expired")
    if claims.iat and early < claims.iat:
        raise InvalidTokenError("service account token is issued in the future")


def _check_legacy_claims(claims: Claims) -> None:
    needed = {
        "sub": claims.sub,
        "namespace": claims.legacy_namespace,
        "secretName": claims.legacy_secret,
        "serviceAccountName": claims.legacy_account,
        "serviceAccountUID": claims.legacy_uid,
    }
    for name, value in needed.items():
        if not value:
            raise InvalidTokenError(f"{name} claim is missing")
    if split_account(claims.sub) != (claims.legacy_namespace, claims.legacy_account):
        raise InvalidTokenError("sub claim is invalid")


def _is_deleted(stored: _Stored, before: datetime) -> bool:
    """Whether an object was deleted before a time; until then a token outlives the deletion that it takes part in."""
    deleted = stored.metadata.deletion_timestamp
    return deleted is not None and deleted.astimezone(UTC) < before


def _label(stored: _Stored, key: str) -> str:
    return (stored.metadata.labels or {}).get(key, "")


def _extra_of(kind: str, bound: BoundObject) -> dict[str, tuple[str, ...]]:
    parts = {f"{_EXTRA}{kind}-name": bound.name, f"{_EXTRA}{kind}-uid": bound.uid}
    return {key: (value,) for key, value in parts.items() if value}


def _user_of(namespace: str, name: str, uid: str, extra: Mapping[str, tuple[str, ...]]) -> UserInfo:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return add_authenticated_group(UserInfo(account_name(namespace, name), uid, groups, extra))


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""


def _go_strings(values: Sequence[str]) -> str:
    return f"[{' '.join(quoted(value) for value in values)}]"
