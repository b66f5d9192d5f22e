"""The configuration that a pod finds in its own file system and environment."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._config.kubeconfig import KubeconfigCluster, KubeconfigUser
from masthead._config.resolution import ResolvedContext, build_config
from masthead._meta.secret import Secret
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._config.model import Config

__all__ = ["SERVICE_ACCOUNT", "in_cluster", "resolve_in_cluster"]

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod has its service account's token, authority and namespace."""
_ADDRESS: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")

_log = logging.getLogger("masthead.config")


def in_cluster(environ: Mapping[str, str] | None = None, root: Path = SERVICE_ACCOUNT) -> Config:
    """The configuration of the pod that this runs in.

    The token is read from its file, and read again when that changes. The namespace is ``POD_NAMESPACE``'s, else
    the pod's own, else ``default``.

    Args:
        environ: The environment; the process' own by default.
        root: Where the service account's files are.

    Raises:
        ConfigError: If this is no pod, or one without a service account's token.
    """
    environ = os.environ if environ is None else environ
    return build_config(resolve_in_cluster(environ, root), {}, environ)


def resolve_in_cluster(environ: Mapping[str, str], root: Path) -> ResolvedContext:
    """Where the pod's API server is, and who the pod is there.

    Raises:
        ConfigError: If this is no pod, or one without a service account's token.
    """
    if missing := [name for name in _ADDRESS if not environ.get(name)]:
        raise ConfigError(f"this is not a pod in a cluster: {' and '.join(missing)} not set")
    token = root / "token"
    if not token.is_file():
        raise ConfigError(
            f"this pod has no service account token: there is no file {token}. "
            "Do not set automountServiceAccountToken to false."
        )
    host, port = (environ[name] for name in _ADDRESS)
    return ResolvedContext(
        cluster=KubeconfigCluster(
            server=Secret(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"),
            ca_file=_authority(root / "ca.crt"),
        ),
        user=KubeconfigUser(token_file=token),
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
