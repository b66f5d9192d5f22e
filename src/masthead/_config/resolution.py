"""Resolution of a kubeconfig's context to a cluster, a user and a `Config`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._config.address import with_scheme, without_token, without_userinfo
from masthead._config.kubeconfig import KubeconfigCluster, KubeconfigContext, KubeconfigUser
from masthead._config.model import Config, OidcConfig
from masthead._config.overrides import override_cluster, override_user
from masthead._config.proxies import proxy_for
from masthead._meta.names import quote
from masthead._meta.secret import Secret
from masthead._value import Value
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._config.kubeconfig import AuthProvider, Kubeconfig
    from masthead._config.overrides import Overrides

__all__ = ["ResolvedContext", "build_config", "resolve_context"]

_PLUGINS: Final = {"gcp": "gke-gcloud-auth-plugin", "azure": "kubelogin"}
"""The exec plugins that replace removed auth-providers."""

_Entry = TypeVar("_Entry")


class ResolvedContext(Value, kw_only=True):
    """The cluster and user of a context.

    Attributes:
        cluster: The cluster entry.
        user: The user entry.
        user_name: The name of the user entry; empty for none.
        namespace: The default namespace; empty if the context has none.
        origin: Where it was loaded from, for messages.
    """

    cluster: KubeconfigCluster
    user: KubeconfigUser
    user_name: str = ""
    namespace: str = ""
    origin: str = ""


def resolve_context(kubeconfig: Kubeconfig, overrides: Overrides) -> ResolvedContext:
    """Resolve a context to its cluster and user.

    A context without a user is anonymous; a context whose user does not exist is an error. If there is no current
    context, one must be named, even if there is only one: some leave it empty so that nothing happens by mistake.

    Raises:
        ConfigError: If a context, cluster or user does not exist, or no context is named.
    """
    context_name = overrides.get("context") or kubeconfig.current_context
    origin = kubeconfig.name + (f", context {quote(context_name)}" if context_name else "")
    context = KubeconfigContext()
    if context_name:
        context = _find("context", context_name, kubeconfig.contexts, kubeconfig.name)
    # A cluster or a server may stand without a context.
    elif not (overrides.get("cluster") or overrides.get("server")):
        raise ConfigError(_no_context(kubeconfig))
    cluster_name = overrides.get("cluster") or context.cluster
    user_name = overrides.get("user") or context.user
    cluster = _find("cluster", cluster_name, kubeconfig.clusters, origin) if cluster_name else KubeconfigCluster()
    if not cluster_name and not overrides.get("server"):
        raise ConfigError(f"{origin}: it names no cluster; add one, or pass cluster=")
    user = _find("user", user_name, kubeconfig.users, origin) if user_name else KubeconfigUser()
    # Now, because another token may be given in its place, which must count.
    server = Secret(without_token(cluster.server.reveal(), user.token.reveal()))
    return ResolvedContext(
        cluster=replace(cluster, server=server),
        user=user,
        user_name=user_name,
        namespace=context.namespace,
        origin=origin,
    )


def build_config(resolved: ResolvedContext, overrides: Overrides, environ: Mapping[str, str]) -> Config:
    """Build a configuration from a resolved context, the overrides and the proxy variables of the environment.

    Raises:
        ConfigError: If it is invalid.
    """
    cluster = override_cluster(resolved.cluster, overrides)
    user = override_user(resolved.user, overrides)
    # Now, with the name of the kubeconfig, and not with the first request.
    _refuse_missing_files(cluster, user, resolved.origin)
    # Here, too: the environment has a proxy for each scheme.
    has_tls = bool(
        cluster.ca_file
        or cluster.ca_data
        or cluster.insecure
        or user.client_certificate_file
        or user.client_certificate_data
    )
    server = Secret(with_scheme(cluster.server.reveal(), has_tls=has_tls))
    cluster = replace(cluster, server=server)
    # The extension belongs to the cluster, and the plugin to the user: the context joins them.
    exec_ = replace(user.exec, cluster_config=cluster.exec_config.reveal()) if user.exec else None
    return Config(
        server=cluster.server.reveal(),
        namespace=overrides.get("namespace") or resolved.namespace or "default",
        ca_file=cluster.ca_file,
        ca_data=cluster.ca_data,
        insecure=cluster.insecure,
        tls_server_name=cluster.tls_server_name,
        proxy_url=(cluster.proxy_url or _proxy_for(cluster, environ)).reveal(),
        disable_compression=cluster.disable_compression,
        allow_plain_http=bool(overrides.get("allow_plain_http")),
        token=user.token,
        token_file=user.token_file,
        username=user.username,
        password=user.password,
        client_certificate_file=user.client_certificate_file,
        client_certificate_data=user.client_certificate_data,
        client_key_file=user.client_key_file,
        client_key_data=user.client_key_data,
        exec=exec_,
        oidc=_oidc(user.auth_provider, resolved.user_name) if user.auth_provider else None,
        impersonate=user.impersonate,
        origin=resolved.origin,
    )


def _proxy_for(cluster: KubeconfigCluster, environ: Mapping[str, str]) -> Secret:
    return Secret(proxy_for(without_userinfo(cluster.server.reveal())[0], environ))


def _find(kind: str, name: str, entries: Mapping[str, _Entry], where: str) -> _Entry:
    if name in entries:
        return entries[name]
    there = f"there are {', '.join(map(quote, entries))}" if entries else f"there is no {kind} at all"
    raise ConfigError(f"{where}: there is no {kind} {quote(name)}; {there}")


def _no_context(kubeconfig: Kubeconfig) -> str:
    if not kubeconfig.contexts:
        return f"{kubeconfig.name}: there is no context; add one with a cluster and a user, or pass cluster="
    names = ", ".join(map(quote, kubeconfig.contexts))
    return f"{kubeconfig.name}: current-context is empty; set it, or pass context= with one of {names}"


def _refuse_missing_files(cluster: KubeconfigCluster, user: KubeconfigUser, origin: str) -> None:
    """Report missing files here, where their origin is still known."""
    files = {
        "certificate-authority": cluster.ca_file,
        "client-certificate": user.client_certificate_file,
        "client-key": user.client_key_file,
    }
    missing = [f"{name} {path}" for name, path in files.items() if path is not None and not path.is_file()]
    if missing:
        raise ConfigError(f"{origin}: there is no such file: {'; '.join(missing)}")


def _oidc(provider: AuthProvider, user: str) -> OidcConfig:
    node = provider.config
    # Providers of clouds became exec plugins in Kubernetes 1.26.
    if provider.name != "oidc":
        plugin = _PLUGINS.get(provider.name, "")
        instead = f"an exec plugin instead: {plugin}" if plugin else "an exec plugin instead"
        raise node.error(f"Kubernetes has removed the auth-provider {quote(provider.name)}; use {instead}")
    ca_data = node.at("idp-certificate-authority-data").decode_base64()
    ca_file = node.at("idp-certificate-authority").file()
    return OidcConfig(
        issuer=node.at("idp-issuer-url").text(),
        client_id=node.at("client-id").text(),
        client_secret=Secret(node.at("client-secret").text()),
        id_token=Secret(node.at("id-token").text()),
        refresh_token=Secret(node.at("refresh-token").text()),
        # As everywhere in a kubeconfig, data wins over a file.
        ca_file=None if ca_data else ca_file,
        ca_data=ca_data,
        kubeconfig=node.source.file,
        user=user,
    )
