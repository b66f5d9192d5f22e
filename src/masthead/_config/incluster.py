"""In-cluster configuration, from the service account and environment of a pod."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._config.kubeconfig import KubeconfigCluster, KubeconfigUser
from masthead._config.resolution import ResolvedContext, build_config
from masthead._meta.secret import Secret
from masthead._module import set_module
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._config.model import Config

__all__ = ["SERVICE_ACCOUNT", "in_cluster", "resolve_in_cluster"]

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The directory with the token, CA certificate and namespace of a pod's service account."""
_ADDRESS: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")

_log = logging.getLogger("masthead.config")


@set_module("masthead.config")
def in_cluster(environ: Mapping[str, str] | None = None, root: Path = SERVICE_ACCOUNT) -> Config:
    """Return the configuration of the pod that this process runs in.

    The token file is read again when it changes. The namespace is ``POD_NAMESPACE``, else the pod's own, else
    ``default``.

    Args:
        environ: The environment; that of this process by default.
        root: The directory of the service account's files.

    Raises:
        ConfigError: If the process does not run in a pod, or the pod has no service account token.
    """
    environ = os.environ if environ is None else environ
    return build_config(resolve_in_cluster(environ, root), {}, environ)


def resolve_in_cluster(environ: Mapping[str, str], root: Path) -> ResolvedContext:
    """Return the cluster and user of a pod.

    Raises:
        ConfigError: If the process does not run in a pod, or the pod has no service account token.
    """
    if missing := [name for name in _ADDRESS if not environ.get(name)]:
        raise ConfigError(f"this is not a pod in a cluster: {' and '.join(missing)} not set")
    token = root / "token"
    # The address alone is not enough: some tools set it outside of pods.
    if not token.is_file():
        raise ConfigError(
            f"this pod has no service account token: there is no file {token}. "
            "Do not set automountServiceAccountToken to false."
        )
    host, port = (environ[name] for name in _ADDRESS)
    return ResolvedContext(
        cluster=KubeconfigCluster(
            # An IPv6 address needs brackets in a URL.
            server=Secret(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"),
            ca_file=_authority(root / "ca.crt"),
        ),
        user=KubeconfigUser(token_file=token),
        # The downward API wins, as in client-go, since the mounted file may be missing.
        namespace=environ.get("POD_NAMESPACE") or _read(root / "namespace"),
        origin="the pod's service account",
    )


def _authority(path: Path) -> Path | None:
    if path.is_file():
        return path
    _log.warning("there is no %s, so that only authorities that the machine trusts will do", path)
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
