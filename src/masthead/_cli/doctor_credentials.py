"""Which credentials a configuration has, and when they expire."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from masthead._auth.oidc import expiry_of
from masthead._cli.certificates import expiry_of_pem
from masthead._cli.diagnosis import Diagnosis, judge_expiry
from masthead._meta.secret import Secret

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from masthead._config.model import Config

__all__ = ["check_credentials"]

_CHECK = "credentials"
_LOG_IN = "log in again, or ask for a new one"


def check_credentials(config: Config, now: datetime) -> list[Diagnosis]:
    """Check each credential of a configuration. It may read files.

    Args:
        config: The configuration.
        now: The time.
    """
    found = [*_certificate(config, now), *_tokens(config, now), *_others(config, now)]
    if found:
        return found
    hint = "requests are anonymous: log in, or name another context"
    return [Diagnosis(_CHECK, "warn", "the configuration has none", hint)]


def _certificate(config: Config, now: datetime) -> list[Diagnosis]:
    path = config.client_certificate_file
    if path is None and not config.client_certificate_data:
        return []
    where = f"client certificate {path}" if path else "client certificate"
    # Certificates are part of the TLS handshake.
    if config.speaks_plain_http:
        hint = "use https, or another credential"
        return [Diagnosis(_CHECK, "warn", f"{where} is not used without TLS", hint)]
    try:
        expires = expiry_of_pem(config.client_certificate_data or _text(path))
    except (OSError, ValueError) as error:
        return [Diagnosis(_CHECK, "fail", f"{where} cannot be read: {error}", "check the kubeconfig")]
    return [judge_expiry(_CHECK, where, expires, now, renewal=_LOG_IN)]


def _tokens(config: Config, now: datetime) -> list[Diagnosis]:
    if config.token_file is not None:
        where = f"token {config.token_file}"
        try:
            token = Secret(_text(config.token_file).strip())
        except (OSError, ValueError) as error:
            # The loader prefers the file, and falls back to the inline token.
            if config.token:
                return [_token("token", config.token, now)]
            return [Diagnosis(_CHECK, "fail", f"{where} cannot be read: {error}", "check the file")]
        return [_token(where, token, now)]
    return [_token("token", config.token, now)] if config.token else []


def _token(where: str, token: Secret, now: datetime) -> Diagnosis:
    try:
        expires = expiry_of(token)
    except ValueError:
        return Diagnosis(_CHECK, "ok", f"{where}, which is not a JSON Web Token; the server alone knows its expiry")
    return judge_expiry(_CHECK, where, expires, now, renewal=_LOG_IN)


def _others(config: Config, now: datetime) -> list[Diagnosis]:
    if config.exec is not None:
        command = config.exec.command
        if shutil.which(command) is None:
            hint = config.exec.install_hint or "install it, or correct PATH"
            return [Diagnosis(_CHECK, "fail", f"the program {command} is not installed", hint)]
        return [Diagnosis(_CHECK, "ok", f"from the program {command}, which renews them")]
    if config.oidc is not None:
        if not config.oidc.id_token:
            return [Diagnosis(_CHECK, "ok", f"OpenID Connect of {config.oidc.issuer}, without a token yet")]
        renews = bool(config.oidc.refresh_token)
        found = _token("ID token of OpenID Connect", config.oidc.id_token, now)
        # An expired ID token is normal: the client gets a new one by the refresh token.
        if renews and found.mark == "fail":
            return [Diagnosis(_CHECK, "ok", f"{found.line}, and is renewed", "", found.facts)]
        return [found]
    if config.username or config.password:
        hint = "Kubernetes supports no passwords; use a token or a certificate"
        return [Diagnosis(_CHECK, "warn", "a user name and a password", hint)]
    return []


def _text(path: Path | None) -> str:
    return "" if path is None else path.read_text("utf-8")
