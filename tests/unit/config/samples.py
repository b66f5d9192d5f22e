"""Kubeconfigs to test with."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from masthead._meta import yaml

if TYPE_CHECKING:
    from pathlib import Path

Plain = dict[str, Any]

SERVER = "https://10.0.0.1:6443"


def plain(*, cluster: Plain | None = None, user: Plain | None = None, context: Plain | None = None) -> Plain:
    """A kubeconfig with one context, one cluster and one user, all named dev."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "dev", "cluster": {"server": SERVER} | (cluster or {})}],
        "users": [{"name": "dev", "user": user or {}}],
        "contexts": [{"name": "dev", "context": {"cluster": "dev", "user": "dev"} | (context or {})}],
        "current-context": "dev",
    }


def several(*names: str) -> Plain:
    """A kubeconfig with contexts of these names, of which none is current."""
    return {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}"}} for name in names],
        "users": [{"name": name, "user": {"token": f"token-of-{name}"}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
    }


def single(name: str) -> Plain:
    """A kubeconfig with one context, which is current."""
    return several(name) | {"current-context": name}


def written(path: Path, data: Plain) -> Path:
    """Write a kubeconfig, and the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.dump(data), "utf-8")
    return path


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
