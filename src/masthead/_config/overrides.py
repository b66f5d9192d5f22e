"""What a caller says that a kubeconfig says otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from masthead._config.model import Impersonation
from masthead._meta.secret import Secret
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from os import PathLike

    from masthead._config.kubeconfig import KubeconfigCluster, KubeconfigUser
    from masthead._config.model import Config

__all__ = ["Overrides", "adjusted", "override_cluster", "override_user", "refuse_unknown"]

_SECRETS: Final = frozenset({"server", "proxy_url", "token"})


class Overrides(TypedDict, total=False):
    """What wins over what is read. None and the empty text win over nothing.

    Attributes:
        context: The context to use, by name; needed where the kubeconfig's ``current-context`` is empty.
        cluster: The cluster to use, by name.
        user: The user to be, by name.
        namespace: Where objects are when nobody says otherwise.
        server: The API server's address. It takes the cluster's ``tls-server-name`` away.
        proxy_url: Through which proxy to go.
        tls_server_name: The name that the server's certificate must have.
        insecure: True: trust anybody, and no authority that was read. False: check certificates all the same.
        ca_file: The authority to trust, in place of what was read.
        token: A bearer token, in place of the user's token, password or program. As with kubectl, a client
            certificate stays, and a server that takes certificates believes it first.
        impersonate: As whom to act.
        allow_plain_http: Send credentials without TLS to servers that are not on this machine.
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
    """Refuse what no checker has seen. What is secret among the rest is hidden: frames on the way show their variables.

    Raises:
        TypeError: If there is an override that nobody knows.
    """
    for name in _SECRETS & overrides.keys():
        overrides[name] = _secret(overrides[name] or "")  # type: ignore[literal-required]
    if unknown := sorted(overrides.keys() - Overrides.__annotations__.keys()):
        known = ", ".join(Overrides.__annotations__)
        raise TypeError(f"{function}() knows no argument {unknown[0]!r}; it overrides {known}")


def _secret(given: str | Secret) -> Secret:
    return given if isinstance(given, Secret) else Secret(given)


def override_cluster(cluster: KubeconfigCluster, overrides: Overrides) -> KubeconfigCluster:
    """The cluster as the caller wants it."""
    if server := overrides.get("server"):
        cluster = replace(cluster, server=_secret(server), tls_server_name="")
    if tls_server_name := overrides.get("tls_server_name"):
        cluster = replace(cluster, tls_server_name=tls_server_name)
    if proxy_url := overrides.get("proxy_url"):
        cluster = replace(cluster, proxy_url=_secret(proxy_url))
    insecure, ca_file = overrides.get("insecure"), overrides.get("ca_file")
    if insecure or ca_file:
        path = Path(ca_file) if ca_file else None
        cluster = replace(cluster, insecure=bool(insecure), ca_file=path, ca_data="")
    elif insecure is False:
        cluster = replace(cluster, insecure=False)
    return cluster


def override_user(user: KubeconfigUser, overrides: Overrides) -> KubeconfigUser:
    """The user as the caller wants it."""
    if token := overrides.get("token"):
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


def adjusted(
    config: Config, *, namespace: str | None = None, impersonate: str | Impersonation | None = None
) -> Config:
    """A whole configuration as the caller wants it; None and the empty text change nothing.

    Raises:
        ConfigError: If it cannot be used like that.
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
