"""Where a configuration is looked for, and in which order."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from masthead._config.files import expand, find, listed_in, read_file, read_files
from masthead._config.incluster import SERVICE_ACCOUNT, resolve_in_cluster
from masthead._config.kubeconfig import KubeconfigCluster, KubeconfigUser, parse
from masthead._config.overrides import Overrides, refuse_unknown
from masthead._config.resolution import ResolvedContext, build_config, resolve_context
from masthead._config.yaml_node import YamlSource
from masthead._meta.names import quote
from masthead._meta.secret import Secret, SecretValue
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from os import PathLike
    from typing import Unpack

    from masthead._config.kubeconfig import Content, Kubeconfig
    from masthead._config.model import Config

__all__ = ["KubeContext", "KubeconfigSource", "conceal", "from_kubeconfig", "list_contexts", "load"]

KubeconfigSource: TypeAlias = (
    "str | PathLike[str] | Mapping[str, object] | Secret | SecretValue[Mapping[str, object]]"
)
"""Where a kubeconfig is: the path of a file, the text of one, or what its YAML says as plain data. A `Secret` is always
text."""

_ADVICE = (
    "Name a kubeconfig, or set KUBECONFIG. Without a cluster, `masthead serve --kubeconfig-out FILE` "
    "(or `python -m masthead.server --kubeconfig-out FILE`) starts a server and writes one."
)

_T = TypeVar("_T")

_log = logging.getLogger("masthead.config")


def load(
    kubeconfig: KubeconfigSource | None = None,
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
        kubeconfig: A kubeconfig file; or the text of one, such as ``Server.kubeconfig()``; or the same as plain data.
            Relative paths in text and data begin in the current folder. Empty text is as good as None. A `Secret` is
            always text.
        environ: The environment; the process' own by default.
        home: The home folder; what the environment says by default.
        service_account: Where a pod has its service account's files.
        overrides: What wins over what is read; see `Overrides`.

    Raises:
        ConfigError: If nothing was found, or what was found cannot be used.
        TypeError: For an override that nobody knows.
    """
    refuse_unknown(overrides, "load")
    environ = os.environ if environ is None else environ
    hidden = kubeconfig = conceal(kubeconfig)
    found, tried = _read(hidden, environ, home)
    if found:
        return build_config(resolve_context(found, overrides), overrides, environ)
    return build_config(_without_kubeconfig(environ, service_account, tried, overrides), overrides, environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeContext:
    """A context of a kubeconfig.

    Attributes:
        name: What to give as ``Client(context=...)``.
        cluster: Which cluster it is about, by its name in the kubeconfig.
        user: As which user, by its name in the kubeconfig; empty for none.
        namespace: The default namespace; empty if the context names none.
        is_current: Whether it is used where no other is asked for.
    """

    name: str
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    is_current: bool = False


def list_contexts(
    kubeconfig: KubeconfigSource | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> list[KubeContext]:
    """List the contexts of a kubeconfig, in the order in which they are written. Nothing is sent.

    ::

        for each in masthead.config.list_contexts():
            print("*" if each.is_current else " ", each.name, each.cluster, each.namespace or "default")

    Args:
        kubeconfig: As for `load`: by default the files of ``KUBECONFIG``, merged, or ``~/.kube/config``.
        environ: The environment; the process' own by default.
        home: The home folder; what the environment says by default.

    Returns:
        The contexts; none where there is no kubeconfig at all, as in a pod.

    Raises:
        ConfigError: If the kubeconfig that is given is missing or empty, or one that was found cannot be read.
    """
    hidden = kubeconfig = conceal(kubeconfig)
    found, _ = _read(hidden, os.environ if environ is None else environ, home)
    return [
        KubeContext(
            name=name,
            cluster=each.cluster,
            user=each.user,
            namespace=each.namespace,
            is_current=name == found.current_context,
        )
        for name, each in found.contexts.items()
    ]


def from_kubeconfig(
    content: Content | SecretValue[Content],
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
        ConfigError: If it is no kubeconfig, or cannot be used.
        TypeError: For an override that nobody knows.
    """
    content = content if isinstance(content, SecretValue) else SecretValue(content)
    refuse_unknown(overrides, "from_kubeconfig")
    selection = resolve_context(
        _parse_given(content, Path(folder) if folder is not None else None), overrides
    )
    return build_config(selection, overrides, os.environ if environ is None else environ)


def _read(
    given: KubeconfigSource | None, environ: Mapping[str, str], home: Path | None
) -> tuple[Kubeconfig, list[str]]:
    """The kubeconfig that is given or else found, and why other places did not do; empty if none was found.

    Raises:
        ConfigError: If what is given is missing, empty or nothing of the kind, or what was found cannot be read.
    """
    home = home or _home(environ)
    if isinstance(given, SecretValue):
        return _parse_given(given), []
    if given is not None and not isinstance(cast("object", given), str | os.PathLike):
        raise ConfigError(
            f"kubeconfig is of type {type(given).__name__}; give the path of a file, the text of one, or a dict of what "
            "it says"
        )
    if given and (path := os.fspath(cast("str | PathLike[str]", given))):
        return _read_given(expand(path, home)), []
    found, unfit = read_files(find(environ, home))
    tried = [f"{path} {why}" for path, why in unfit.items()] or ["HOME is not set"]
    return found, tried if listed_in(environ) else ["KUBECONFIG is not set", *tried]


def _parse_given(content: SecretValue[Content], folder: Path | None = None) -> Kubeconfig:
    found = parse(content, YamlSource("the kubeconfig", folder=folder))
    if not found:
        raise ConfigError(f"{found.name}: names no cluster, user or context, nor which context is current")
    return found


def conceal(kubeconfig: _T) -> _T | Secret | SecretValue[Mapping[str, object]]:
    """The same; the text of a kubeconfig becomes a Secret and its data is hidden, so that no frame shows their tokens."""
    if isinstance(kubeconfig, str) and _is_content(kubeconfig):
        return Secret(kubeconfig)
    return (
        SecretValue(cast("Mapping[str, object]", kubeconfig))
        if isinstance(kubeconfig, Mapping)
        else kubeconfig
    )


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
) -> ResolvedContext:
    named = {
        "context": overrides.get("context"),
        "cluster": overrides.get("cluster"),
        "user": overrides.get("user"),
    }
    asked = " and ".join(f"the {kind} {quote(name)}" for kind, name in named.items() if name)
    if asked:
        raise ConfigError(_not_found(f"{asked} cannot be looked up without a kubeconfig", tried))
    if overrides.get("server"):
        # The pod's token is for the pod's own server, and not for any other that may be named.
        return ResolvedContext(cluster=KubeconfigCluster(), user=KubeconfigUser(), origin="what was given")
    try:
        found = resolve_in_cluster(environ, service_account)
    except ConfigError as error:
        raise ConfigError(_not_found("no cluster was found", [*tried, str(error)])) from None
    if listed_in(environ):
        _log.warning("%s; so it is the pod's service account that is used", "; ".join(tried))
    return found


def _not_found(what: str, tried: list[str]) -> str:
    return "\n".join([f"{what}:", *(f"  - {each}" for each in tried), _ADVICE])
