"""The certificates of a server, and the credentials that it hands out: certificates of users, kubeconfigs."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from masthead.errors import ArgumentError, ConfigError
from masthead_server.argument_checks import check_text, check_texts, check_type
from masthead_server.authentication.authenticator import token_path
from masthead_server.certificate_signer import ClientCertificate
from masthead_server.tls import can_issue

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from masthead_server.certificate_signer import CertificateSigner
    from masthead_server.profiles.profile import ClusterAdministrator
    from masthead_server.settings import Settings
    from masthead_server.tls import Certificates

__all__ = ["ServerCredentials", "check_credentials"]


def check_credentials(credentials: str | ClientCertificate) -> None:
    """Check the credentials of a kubeconfig.

    Raises:
        TypeError: If they are neither a token nor a certificate.
        ArgumentError: If the token is empty.
    """
    if isinstance(credentials, ClientCertificate):
        return
    check_type("credentials", credentials, str, "a token, or a certificate of Server.client_certificate")
    check_text("the token", credentials, may_be_empty=False)


class ServerCredentials:
    """The certificates of a server, made when they are first needed: importing what makes them takes a while.

    Args:
        settings: The settings of the server.

    Raises:
        ConfigError: If the server speaks TLS only, and there can be no certificates.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # Pods mount the authority from the ConfigMap that every namespace has from its beginning.
        is_needed = settings.tls or (settings.bootstrap and settings.runs_pods and can_issue())
        self._certificates = settings.certificates() if is_needed else None
        self._issuing = threading.Lock()

    @property
    def known_authority(self) -> str:
        """The certificate authority, in PEM; empty if nothing has needed it yet."""
        return self._certificates.authority if self._certificates else ""

    @property
    def authority(self) -> str:
        """The certificate authority, in PEM; empty if the extra ``tls`` is not installed."""
        issued = self._issue()
        return issued.authority if issued is not None else ""

    def find_signer(self) -> CertificateSigner | None:
        """Return the signer of further certificates; None if the extra ``tls`` is not installed."""
        issued = self._issue()
        return issued.signer if issued is not None else None

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context of the server; None if the extra ``tls`` is not installed."""
        issued = self._issue()
        return issued.context if issued is not None else None

    def issue_client(self, user: str, groups: Sequence[str], uid: str, lifetime: timedelta) -> ClientCertificate:
        """Issue a certificate that identifies a user.

        Raises:
            ConfigError: If the extra ``tls`` is not installed.
            TypeError: If a name is no text, the groups are no list, or the lifetime is no timedelta.
            ArgumentError: If a name does not fit into a certificate, or the lifetime is not positive.
        """
        check_text("user", user)
        check_texts("groups", groups)
        check_text("uid", uid)
        check_type("lifetime", lifetime, timedelta, "a timedelta")
        if lifetime <= timedelta():
            raise ArgumentError(f"a certificate has a positive lifetime, not {lifetime}", value=lifetime)
        signer = self.find_signer()
        if signer is None:
            raise ConfigError("certificates need trustme: pip install 'masthead-k8s[tls]'")
        if not user or "" in groups:
            raise ArgumentError("the names of a user and of its groups must not be empty", value=(user, groups))
        try:
            return signer.issue_client(user, groups, uid, self._settings.clock.now(), lifetime)
        except ValueError as error:
            raise ArgumentError(f"there is no certificate for {user!r}: {error}", value=(user, groups)) from None

    def kubeconfig(
        self, url: str, credentials: str | ClientCertificate | None, administrator: ClusterAdministrator | None = None
    ) -> str:
        """Write a kubeconfig.

        Args:
            url: The URL of the server.
            credentials: A token, or the certificate of a user; None if none are needed.
            administrator: The user of the profile, whose names the kubeconfig has.
        """
        # Its module imports YAML.
        from masthead_server.kubeconfig import DEFAULT_NAME, kubeconfig

        name = administrator.context if administrator is not None else DEFAULT_NAME
        encrypted = f"https://{url.partition('://')[2]}"
        if isinstance(credentials, ClientCertificate):
            return kubeconfig(encrypted, token=None, authority=self.authority, certificate=credentials, name=name)
        if credentials is None and not self._settings.tls:
            return kubeconfig(url, token=None, name=name)
        if not self.authority:
            return kubeconfig(url + token_path(cast("str", credentials)), token=credentials, name=name)
        return kubeconfig(encrypted, token=credentials, authority=self.authority, name=name)

    def _issue(self) -> Certificates | None:
        # A client may connect while another thread asks for the kubeconfig.
        with self._issuing:
            if self._certificates is None and can_issue():
                self._certificates = self._settings.certificates()
            return self._certificates
