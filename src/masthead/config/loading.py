"""Where a configuration is looked for, and in which order."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from masthead.config.files import expand, find, listed_in, read_file, read_files
from masthead.config.incluster import SERVICE_ACCOUNT, select_in_cluster
from masthead.config.kubeconfig import Cluster, User, parse
from masthead.config.node import Source
from masthead.config.overrides import Overrides, refuse_unknown
from masthead.config.selection import Selection, select, settle
from masthead.errors import ConfigError
from masthead.meta.names import shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Unpack

    from masthead.config.kubeconfig import Kubeconfig
    from masthead.config.model import Config

__all__ = ["from_kubeconfig", "load"]

_ADVICE = (
    "Name a kubeconfig, or set KUBECONFIG. Without a cluster, `masthead serve --kubeconfig-out FILE` "
    "(or `python -m masthead.server --kubeconfig-out FILE`) starts a server and writes one."
)

_log = logging.getLogger("masthead.config")


def load(
    kubeconfig: str | PathLike[str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    **overrides: Unpack[Overrides],
) -> Config:
    """Find out where the cluster is and who we are there.

    The first of these that is there counts: the file that is given, alone; the files of ``KUBECONFIG``, merged;
    ``~/.kube/config``; the service account of the pod that this runs in. With ``server=``, nothing need be there.

    Args:
        kubeconfig: A kubeconfig file, or the text of one, such as ``Server.kubeconfig()``; empty for none.
        environ: The environment; the process' own by default.
        home: The home folder; what the environment says by default.
        service_account: Where a pod has its service account's files.
        overrides: What wins over what is read; see `Overrides`.

    Raises:
        ConfigError: if nothing was found, or what was found cannot be used.
        TypeError: for an override that nobody knows.
    """
    refuse_unknown(overrides, "load")
    environ = os.environ if environ is None else environ
    home = home or _home(environ)
    if isinstance(kubeconfig, str) and _is_content(kubeconfig):
        return from_kubeconfig(kubeconfig, environ=environ, **overrides)
    if kubeconfig is not None and os.fspath(kubeconfig):
        return settle(select(_read_given(expand(kubeconfig, home)), overrides), overrides, environ)
    found, tried = read_files(find(environ, home))
    if found:
        return settle(select(found, overrides), overrides, environ)
    reasons = [f"{path} {why}" for path, why in tried.items()] or ["HOME is not set"]
    if not listed_in(environ):
        reasons.insert(0, "KUBECONFIG is not set")
    return settle(_without_kubeconfig(environ, service_account, reasons, overrides), overrides, environ)


def from_kubeconfig(
    content: str | bytes | Mapping[str, object],
    *,
    folder: str | PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    **overrides: Unpack[Overrides],
) -> Config:
    """Make a configuration of a kubeconfig that is held in memory, such as ``Server.kubeconfig()``.

    Args:
        content: YAML, JSON, or the same as plain data. It is never taken for a path: that is what `load` is for.
        folder: Where relative paths in it begin; the current folder by default.
        environ: The environment, which may name a proxy; the process' own by default.
        overrides: What wins over what is read; see `Overrides`.

    Raises:
        ConfigError: if it is no kubeconfig, or cannot be used.
        TypeError: for an override that nobody knows.
    """
    refuse_unknown(overrides, "from_kubeconfig")
    source = Source("the kubeconfig", folder=Path(folder) if folder is not None else None)
    selection = select(_refuse_empty(parse(content, source)), overrides)
    return settle(selection, overrides, os.environ if environ is None else environ)


def _is_content(kubeconfig: str) -> bool:
    """Whether it is a kubeconfig itself, and not the path of one."""
    return "\n" in kubeconfig or kubeconfig.lstrip().startswith("{")


def _home(environ: Mapping[str, str]) -> Path | None:
    found = environ.get("USERPROFILE" if os.name == "nt" else "HOME")
    return Path(found) if found else None


def _read_given(path: Path) -> Kubeconfig:
    try:
        return _refuse_empty(read_file(path))
    except FileNotFoundError:
        raise ConfigError(f"{path}: is not there. {_ADVICE}") from None


def _refuse_empty(kubeconfig: Kubeconfig) -> Kubeconfig:
    if not kubeconfig:
        raise ConfigError(f"{kubeconfig.name}: names no cluster, user or context. {_ADVICE}")
    return kubeconfig


def _without_kubeconfig(
    environ: Mapping[str, str], service_account: Path, tried: list[str], overrides: Overrides
) -> Selection:
    named = {
        "context": overrides.get("context"),
        "cluster": overrides.get("cluster"),
        "user": overrides.get("user"),
    }
    asked = " and ".join(f"the {kind} {shown(name)}" for kind, name in named.items() if name)
    if asked:
        raise ConfigError(_not_found(f"{asked} cannot be looked up without a kubeconfig", tried))
    if overrides.get("server"):
        # The pod's token is for the pod's own server, and not for any other that may be named.
        return Selection(cluster=Cluster(), user=User(), origin="what was given")
    try:
        found = select_in_cluster(environ, service_account)
    except ConfigError as error:
        raise ConfigError(_not_found("no cluster was found", [*tried, str(error)])) from None
    if listed_in(environ):
        _log.warning("%s; so it is the pod's service account that is used", "; ".join(tried))
    return found


def _not_found(what: str, tried: list[str]) -> str:
    return "\n".join([f"{what}:", *(f"  - {each}" for each in tried), _ADVICE])
