"""Settings of the caller that take precedence over a kubeconfig."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from masthead._config.model import Impersonation
from masthead._meta.secret import Secret
from masthead._module import set_module
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from os import PathLike

    from masthead._config.kubeconfig import KubeconfigCluster, KubeconfigUser
    from masthead._config.model import Config

__all__ = ["Overrides", "apply_overrides", "override_cluster", "override_user", "refuse_unknown"]

_SECRETS: Final = frozenset({"server", "proxy_url", "token"})


@set_module("masthead.config")
class Overrides(TypedDict, total=False):
    """Settings that take precedence over the loaded ones. None and the empty string override nothing.

    Attributes:
        context: The name of the context; required if ``current-context`` is empty.
        cluster: The name of the cluster entry.
        user: The name of the user entry.
        namespace: The default namespace.
        server: The API server's URL. It removes the cluster's ``tls-server-name``.
        proxy_url: The proxy.
        tls_server_name: The server name in TLS.
        insecure: True: do not verify certificates, and drop the loaded authority. False: verify them in any case.
        ca_file: The trusted certificate authority, instead of the loaded one.
        token: A bearer token, instead of the user's token, password or exec plugin. As with kubectl, a client
            certificate stays, and a server that supports client certificates evaluates it first.
        impersonate: The user to impersonate.
        allow_plain_http: Whether credentials may be sent without TLS to servers that are not on this machine.
    """

    context: str | None
    cluster: str | None
    user: str | None
    namespace: str | None
    server: str | Secret | None
    proxy_url: str | Secret | None
    tls_server_name: str | None
    insecure: bool | None
    ca_file: str | PathLike[str] | None
    token: str | Secret | None
    impersonate: str | Impersonation | None
    allow_plain_http: bool | None


def refuse_unknown(overrides: Overrides, function: str) -> None:
    """Reject unknown overrides, and wrap the secret ones so that frames of tracebacks do not show them.

    Raises:
        TypeError: If an override is unknown.
    """
    for name in _SECRETS & overrides.keys():
        overrides[name] = _secret(overrides[name] or "")  # type: ignore[literal-required]
    # Checked at run time, too: a misspelt override would silently use other credentials.
    if unknown := sorted(overrides.keys() - Overrides.__annotations__.keys()):
        known = ", ".join(Overrides.__annotations__)
        raise TypeError(f"{function}() got an unexpected argument {unknown[0]!r}; the overrides are {known}")


def _secret(given: str | Secret) -> Secret:
    return given if isinstance(given, Secret) else Secret(given)


def override_cluster(cluster: KubeconfigCluster, overrides: Overrides) -> KubeconfigCluster:
    """Apply the overrides to a cluster."""
    if server := overrides.get("server"):
        # The TLS server name in the kubeconfig is that of the other server.
        cluster = replace(cluster, server=_secret(server), tls_server_name="")
    if tls_server_name := overrides.get("tls_server_name"):
        cluster = replace(cluster, tls_server_name=tls_server_name)
    if proxy_url := overrides.get("proxy_url"):
        cluster = replace(cluster, proxy_url=_secret(proxy_url))
    insecure, ca_file = overrides.get("insecure"), overrides.get("ca_file")
    if insecure or ca_file:
        # The kubeconfig's authorities go in both cases: unverified or with other ones, they are not used.
        path = Path(ca_file) if ca_file else None
        cluster = replace(cluster, insecure=bool(insecure), ca_file=path, ca_data="")
    elif insecure is False:
        cluster = replace(cluster, insecure=False)
    return cluster


def override_user(user: KubeconfigUser, overrides: Overrides) -> KubeconfigUser:
    """Apply the overrides to a user."""
    if token := overrides.get("token"):
        # A token replaces every other way to authenticate, so that only one is used.
        user = replace(
            user,
            token=_secret(token),
            token_file=None,
            username="",
            password=Secret(),
            exec=None,
            auth_provider=None,
        )
    if impersonate := overrides.get("impersonate"):
        user = replace(user, impersonate=_impersonation(impersonate))
    return user


def apply_overrides(
    config: Config, *, namespace: str | None = None, impersonate: str | Impersonation | None = None
) -> Config:
    """Apply overrides to a complete configuration; None and the empty string change nothing.

    Raises:
        ConfigError: If the result is invalid.
    """
    if namespace:
        config = replace(config, namespace=namespace)
    return replace(config, impersonate=_impersonation(impersonate)) if impersonate else config


def _impersonation(whom: object) -> Impersonation:
    if isinstance(whom, Impersonation):
        return whom
    if isinstance(whom, str):
        return Impersonation(user=whom)
    raise ConfigError(
        f"impersonate is of type {type(whom).__name__}; give a user's name, or "
        "masthead.config.Impersonation(user=..., groups=[...])"
    )
