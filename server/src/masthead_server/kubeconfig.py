"""The kubeconfig of a server: its address and its credentials."""

from __future__ import annotations

import base64
from typing import Final

from masthead._meta import yaml

__all__ = ["DEFAULT_NAME", "kubeconfig"]

DEFAULT_NAME: Final = "masthead"


def kubeconfig(
    url: str,
    *,
    token: str | None,
    authority: str = "",
    certificate: tuple[str, str] | None = None,
    name: str = DEFAULT_NAME,
) -> str:
    """Write a kubeconfig with one cluster, one user and one context, all of one name.

    Args:
        url: The server's URL.
        token: The bearer token; None if none is needed.
        authority: The certificate authority, in PEM.
        certificate: The certificate of a user and its key, in PEM, instead of a token.
        name: The name of cluster, user and context.
    """
    cluster = {"server": url}
    if authority:
        cluster["certificate-authority-data"] = _encode(authority)
    user = {"token": token} if token else {}
    if certificate is not None:
        names = ("client-certificate-data", "client-key-data")
        user = dict(zip(names, map(_encode, certificate), strict=True))
    return yaml.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
    )


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
