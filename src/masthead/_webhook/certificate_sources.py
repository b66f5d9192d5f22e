"""Where the certificate of the webhook server comes from: a Secret shared by all replicas, files, or memory."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead._meta.gvk import GroupVersionResource
from masthead._webhook.certificates import check_installed
from masthead._webhook.locations import FIELD_MANAGER
from masthead._webhook.rotation import CertificateSet, next_change, rotate
from masthead.errors import AlreadyExistsError, ConfigError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead._client.client import Client
    from masthead._meta.unstructured import Unstructured
    from masthead._webhook.rotation import RotationPolicy

__all__ = ["CertificateSource", "FileCertificates", "MemoryCertificates", "SecretCertificates", "ServingCertificate"]

_SECRETS: Final = GroupVersionResource("", "v1", "secrets")
_SECRET_TYPE: Final = "kubernetes.io/tls"
_MAX_ATTEMPTS: Final = 10
"""Writes of the Secret that may lose against other replicas."""
_MAX_WAIT: Final = 3600.0
"""Seconds between two checks at most: timers do not notice that a clock was set."""
_FILE_WAIT: Final = 10.0
_MAX_FILE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServingCertificate:
    """A certificate for the server, and the authorities that its clients must trust.

    Attributes:
        certificate: The certificate, with intermediate ones, in PEM.
        key: Its private key.
        bundle: The authorities; empty if someone else tells API servers about them.
    """

    certificate: bytes
    key: bytes
    bundle: bytes


class CertificateSource(Protocol):
    """Supplies the certificate of the webhook server."""

    async def load(self) -> ServingCertificate:
        """Return the certificate of the moment, after creating or rotating it."""
        ...

    def seconds_to_next(self) -> float:
        """Return the seconds until the next `load`."""
        ...


class SecretCertificates:
    """Certificates in a Secret, which the first replica creates and any replica rotates.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the Secret.
        name: The name of the Secret.
        names: The names and addresses of the server.
        policy: The lifetimes.
        clock: The current time.

    Raises:
        ConfigError: If cryptography is not installed.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        names: frozenset[str],
        policy: RotationPolicy,
        clock: Callable[[], datetime],
    ) -> None:
        check_installed()
        self._secrets = client.dynamic(_SECRETS, namespace=namespace)
        self._name = name
        self._names = names
        self._policy = policy
        self._clock = clock
        self._current = CertificateSet()

    async def load(self) -> ServingCertificate:
        """Return the certificate in the Secret, after creating or rotating it.

        Raises:
            ConfigError: If other replicas keep changing the Secret.
            MastheadError: If the Secret cannot be read or written.
        """
        for _ in range(_MAX_ATTEMPTS):
            secret = await self._read()
            current = CertificateSet.from_data({} if secret is None else _data_of(secret))
            # Issuing takes milliseconds of CPU time, and is rare.
            wanted = rotate(current, self._names, self._clock(), self._policy)
            # Another replica may have been faster; then its set is the one to use.
            if wanted == current or await self._write(secret, wanted):
                self._current = wanted
                return ServingCertificate(wanted.certificate, wanted.key, wanted.bundle)
        raise ConfigError(
            f"Secret {self._name} was changed {_MAX_ATTEMPTS} times by others while its certificate was renewed"
        )

    def seconds_to_next(self) -> float:
        """Return the seconds until the next decision about the certificates."""
        now = self._clock()
        left = (next_change(self._current, now, self._policy) - now).total_seconds()
        return max(1.0, min(left, _MAX_WAIT))

    async def _read(self) -> Unstructured | None:
        try:
            return await self._secrets.get(self._name)
        except NotFoundError:
            return None

    async def _write(self, secret: Unstructured | None, wanted: CertificateSet) -> bool:
        """Create or update the Secret; return False if another replica was faster."""
        data = {key: base64.b64encode(value).decode() for key, value in wanted.to_data().items()}
        try:
            if secret is None:
                head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": self._name}}
                await self._secrets.create({**head, "type": _SECRET_TYPE, "data": data}, field_manager=FIELD_MANAGER)
            else:
                # With the resource version, and the labels and annotations of others.
                secret["data"] = {**secret.get("data", default={}), **data}
                await self._secrets.update(secret, field_manager=FIELD_MANAGER)
        except (AlreadyExistsError, ConflictError):
            return False
        return True


def _data_of(secret: Unstructured) -> dict[str, bytes]:
    data = cast("dict[str, str]", secret.get("data") or {})
    return {key: base64.b64decode(value) for key, value in data.items()}


class MemoryCertificates:
    """Certificates that end with the process, for development.

    Args:
        names: The names and addresses of the server.
        policy: The lifetimes.
        clock: The current time.

    Raises:
        ConfigError: If cryptography is not installed.
    """

    def __init__(self, names: frozenset[str], policy: RotationPolicy, clock: Callable[[], datetime]) -> None:
        check_installed()
        self._names = names
        self._policy = policy
        self._clock = clock
        self._current = CertificateSet()

    async def load(self) -> ServingCertificate:
        """Return the certificate, after creating or rotating it."""
        self._current = rotate(self._current, self._names, self._clock(), self._policy)
        return ServingCertificate(self._current.certificate, self._current.key, self._current.bundle)

    def seconds_to_next(self) -> float:
        """Return the seconds until the next decision about the certificates."""
        now = self._clock()
        left = (next_change(self._current, now, self._policy) - now).total_seconds()
        return max(1.0, min(left, _MAX_WAIT))


class FileCertificates:
    """The files ``tls.crt`` and ``tls.key`` of a folder, such as a mounted Secret of cert-manager.

    Args:
        folder: The folder.
        needs_bundle: Whether to read ``ca.crt``, for configurations that this process registers.
    """

    def __init__(self, folder: str, *, needs_bundle: bool = False) -> None:
        self._folder = Path(folder)
        self._needs_bundle = needs_bundle

    async def load(self) -> ServingCertificate:
        """Return the content of the files.

        Raises:
            ConfigError: If a file cannot be read.
        """
        return await asyncio.get_running_loop().run_in_executor(None, self._load)

    def seconds_to_next(self) -> float:
        """Return the seconds until the files are read again."""
        return _FILE_WAIT

    def _load(self) -> ServingCertificate:
        certificate, key = self._read("tls.crt"), self._read("tls.key")
        bundle = b""
        if self._needs_bundle:
            # A self-signed certificate is its own authority.
            bundle = self._read("ca.crt") if (self._folder / "ca.crt").exists() else certificate
        return ServingCertificate(certificate, key, bundle)

    def _read(self, name: str) -> bytes:
        path = self._folder / name
        try:
            with path.open("rb") as file:
                return file.read(_MAX_FILE)
        except OSError as error:
            raise ConfigError(
                f"cannot read {path}: {error.strerror or error}; webhook_cert_dir must have tls.crt and tls.key"
            ) from None
