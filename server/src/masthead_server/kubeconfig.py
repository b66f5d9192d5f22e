"""The kubeconfig of a server: its address and its credentials."""

from __future__ import annotations

import base64

from masthead._meta import yaml

__all__ = ["kubeconfig"]

_NAME = "masthead"


def kubeconfig(url: str, *, token: str | None, authority: str = "") -> str:
    """Write a kubeconfig with one cluster, one user and one context, all of one name.

    Args:
        url: The server's URL.
        token: The bearer token; None if none is needed.
        authority: The certificate authority, in PEM.
    """
    cluster = {"server": url}
    if authority:
        cluster["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    return yaml.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": _NAME, "cluster": cluster}],
            "users": [{"name": _NAME, "user": {"token": token} if token else {}}],
            "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
            "current-context": _NAME,
        }
    )
