"""The controller of old service-account tokens: fills the Secrets that ask for one."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["ServiceAccountSecretController"]

_SECRETS: Final = "secrets"
_ACCOUNTS: Final = "serviceaccounts"
_TYPE: Final = "kubernetes.io/service-account-token"
_NAME: Final = "kubernetes.io/service-account.name"
_UID: Final = "kubernetes.io/service-account.uid"
_TYPE_TEXT: Final = f'"{_TYPE}"'.encode()


class ServiceAccountSecretController:
    """Puts a token into every Secret of the type ``kubernetes.io/service-account-token``.

    Such a token does not expire. It is valid until the Secret changes, or the account is deleted.
    """

    observes = frozenset({_SECRETS, _ACCOUNTS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile Secrets of the type; all those of a namespace whose account was deleted."""
        _, ref, record = write
        if ref.table == _SECRETS:
            return (ref,) if _TYPE_TEXT in record.value else ()
        if not record.is_deleted:
            return ()
        listed = self._client.listed(_SECRETS, containing=(_TYPE_TEXT,))
        return tuple(secret for secret, _ in listed if secret.namespace == ref.namespace)

    async def reconcile(self, ref: ObjectRef) -> None:
        """Fill a Secret, or delete it if its account does not exist.

        Raises:
            JournalError: The change could not be stored.
        """
        secret = self._client.load(ref)
        if secret is None:
            await self._drop_references(ref)
            return
        annotations = part(metadata(secret), "annotations")
        name, wanted = text(annotations, _NAME), text(annotations, _UID)
        if text(secret, "type") != _TYPE or not name:
            return
        account = self._client.load(ObjectRef(_ACCOUNTS, f"{ref.namespace}/{name}"))
        if account is None or (wanted and wanted != uid_of(account)):
            await self._client.delete(ref, uid_of(secret))
            return
        missing = self._find_missing(ref, part(secret, "data"), name, uid_of(account))
        if missing:
            await self._client.update(ref, lambda found: _fill(found, missing, name, uid_of(account)))

    def _find_missing(self, ref: ObjectRef, data: Plain, name: str, uid: str) -> dict[str, str]:
        """The data that a Secret lacks."""
        missing: dict[str, str] = {}
        authority = _encode(self._client.cluster.authority)
        if authority and data.get("ca.crt") != authority:
            missing["ca.crt"] = authority
        if not data.get("namespace"):
            missing["namespace"] = _encode(ref.namespace)
        if not data.get("token"):
            accounts = self._client.cluster.tokens.accounts
            missing["token"] = _encode(accounts.issue_legacy(ref.namespace, name, uid, ref.name))
        return missing

    async def _drop_references(self, ref: ObjectRef) -> None:
        """Remove a deleted Secret from the accounts that list it."""

        def drop(account: Plain) -> None:
            references = items(account, "secrets")
            account["secrets"] = [reference for reference in references if text(reference, "name") != ref.name]

        for account, found in list(self._client.listed(_ACCOUNTS, containing=(f'"{ref.name}"'.encode(),))):
            is_listed = any(text(reference, "name") == ref.name for reference in items(found, "secrets"))
            if is_listed and account.namespace == ref.namespace:
                await self._client.update(account, drop)


def _fill(secret: Plain, missing: dict[str, str], name: str, uid: str) -> None:
    secret["data"] = (secret.get("data") or {}) | missing
    annotations = metadata(secret)["annotations"]
    annotations[_NAME], annotations[_UID] = name, uid


def _encode(value: str) -> str:
    return base64.b64encode(value.encode()).decode()
