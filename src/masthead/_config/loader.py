"""Loading of the client configuration: the sources, and their precedence."""

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
from masthead._module import set_module
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from os import PathLike
    from typing import Unpack

    from masthead._config.kubeconfig import Kubeconfig, KubeconfigContent
    from masthead._config.model import Config

__all__ = ["KubeContext", "KubeconfigSource", "conceal", "from_kubeconfig", "list_contexts", "load"]

KubeconfigSource: TypeAlias = "str | PathLike[str] | Mapping[str, object] | Secret | SecretValue[Mapping[str, object]]"
"""A kubeconfig: the path of a file, its text, or its content as plain data. A `Secret` is always text."""

_ADVICE = (
    "Name a kubeconfig, or set KUBECONFIG. Without a cluster, `masthead serve --kubeconfig-out FILE` "
    "(or `python -m masthead.server --kubeconfig-out FILE`) starts a server and writes one."
)

_T = TypeVar("_T")

_log = logging.getLogger("masthead.config")


@set_module("masthead.config")
def load(
    kubeconfig: KubeconfigSource | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    **overrides: Unpack[Overrides],
) -> Config:
    """Load the client configuration.

    The first source that exists is used: the given kubeconfig; the files of ``KUBECONFIG``, merged; ``~/.kube/config``;
    the service account of the pod that this process runs in. With ``server=``, no source is needed.

    Args:
        kubeconfig: The path of a kubeconfig file; its text, such as ``Server.kubeconfig()``; or its content as plain
            data. Relative paths in text and data are relative to the current directory. The empty string means None. A
            `Secret` is always text.
        environ: The environment; that of this process by default.
        home: The home directory; that of the environment by default.
        service_account: The directory of a pod's service account files.
        overrides: Settings that take precedence over the loaded ones; see `Overrides`.

    Raises:
        ConfigError: If no source exists, or the configuration is invalid.
        TypeError: If an override is unknown.
    """
    refuse_unknown(overrides, "load")
    environ = os.environ if environ is None else environ
    # Also the argument itself: a traceback with locals would print its tokens.
    hidden = kubeconfig = conceal(kubeconfig)
    found, tried = _read(hidden, environ, home)
    if found:
        return build_config(resolve_context(found, overrides), overrides, environ)
    return build_config(_without_kubeconfig(environ, service_account, tried, overrides), overrides, environ)


@set_module("masthead.config")
@dataclass(frozen=True, slots=True, kw_only=True)
class KubeContext:
    """A context of a kubeconfig.

    Attributes:
        name: The name, for ``Client(context=...)``.
        cluster: The name of its cluster in the kubeconfig.
        user: The name of its user in the kubeconfig; empty for none.
        namespace: The default namespace; empty if the context has none.
        is_current: Whether it is the current context.
    """

    name: str
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    is_current: bool = False


@set_module("masthead.config")
def list_contexts(
    kubeconfig: KubeconfigSource | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> list[KubeContext]:
    """List the contexts of a kubeconfig, in file order. No request is sent.

    ::

        for each in masthead.config.list_contexts():
            print("*" if each.is_current else " ", each.name, each.cluster, each.namespace or "default")

    Args:
        kubeconfig: As for `load`: by default the files of ``KUBECONFIG``, merged, or ``~/.kube/config``.
        environ: The environment; that of this process by default.
        home: The home directory; that of the environment by default.

    Returns:
        The contexts; empty if there is no kubeconfig, as in a pod.

    Raises:
        ConfigError: If the given kubeconfig is missing or empty, or another kubeconfig is invalid.
    """
    hidden = kubeconfig = conceal(kubeconfig)
    found, _ = _read(hidden, os.environ if environ is None else environ, home)
    return [
        KubeContext(
            name=name,
            cluster=context.cluster,
            user=context.user,
            namespace=context.namespace,
            is_current=name == found.current_context,
        )
        for name, context in found.contexts.items()
    ]


@set_module("masthead.config")
def from_kubeconfig(
    content: KubeconfigContent | SecretValue[KubeconfigContent],
    *,
    folder: str | PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    **overrides: Unpack[Overrides],
) -> Config:
    """Build a configuration from a kubeconfig in memory, such as ``Server.kubeconfig()``.

    Args:
        content: YAML, JSON, or plain data. It is never interpreted as a path: use `load` for that.
        folder: The base of relative paths in it; the current directory by default.
        environ: The environment, for its proxy variables; that of this process by default.
        overrides: Settings that take precedence over the loaded ones; see `Overrides`.

    Raises:
        ConfigError: If it is not a kubeconfig, or the configuration is invalid.
        TypeError: If an override is unknown.
    """
    content = content if isinstance(content, SecretValue) else SecretValue(content)
    refuse_unknown(overrides, "from_kubeconfig")
    context = resolve_context(_parse_given(content, Path(folder) if folder is not None else None), overrides)
    return build_config(context, overrides, os.environ if environ is None else environ)


def _read(
    given: KubeconfigSource | None, environ: Mapping[str, str], home: Path | None
) -> tuple[Kubeconfig, list[str]]:
    """Return the given or found kubeconfig, and why other sources were skipped; an empty one if none was found.

    Raises:
        ConfigError: If the given one is missing, empty or not a kubeconfig, or a found one is invalid.
    """
    home = home or _home(environ)
    if isinstance(given, SecretValue):
        return _parse_given(given), []
    # Types first, so that the path below cannot fail with a TypeError.
    if given is not None and not isinstance(cast("object", given), str | os.PathLike):
        raise ConfigError(f"kubeconfig is of type {type(given).__name__}; give the path of a file, its text, or a dict")
    if given and (path := os.fspath(cast("str | PathLike[str]", given))):
        return _read_given(expand(path, home)), []
    # Missing and empty files are skipped, as in kubectl, and named if nothing is left.
    found, unfit = read_files(find(environ, home))
    tried = [f"{path} {why}" for path, why in unfit.items()] or ["HOME is not set"]
    return found, tried if listed_in(environ) else ["KUBECONFIG is not set", *tried]


def _parse_given(content: SecretValue[KubeconfigContent], folder: Path | None = None) -> Kubeconfig:
    found = parse(content, YamlSource("the kubeconfig", folder=folder))
    if not found:
        raise ConfigError(f"{found.name}: names no cluster, user or context, nor which context is current")
    return found


def conceal(kubeconfig: _T) -> _T | Secret | SecretValue[Mapping[str, object]]:
    """Wrap the text or data of a kubeconfig, so that frames of tracebacks do not show its tokens."""
    if isinstance(kubeconfig, str) and _is_content(kubeconfig):
        return Secret(kubeconfig)
    return SecretValue(cast("Mapping[str, object]", kubeconfig)) if isinstance(kubeconfig, Mapping) else kubeconfig


def _is_content(kubeconfig: str) -> bool:
    """Whether this is the text of a kubeconfig, not a path."""
    return "\n" in kubeconfig or kubeconfig.lstrip().startswith("{")


def _home(environ: Mapping[str, str]) -> Path | None:
    found = environ.get("USERPROFILE" if os.name == "nt" else "HOME")
    return Path(found) if found else None


def _read_given(path: Path) -> Kubeconfig:
    try:
        return _refuse_empty(read_file(path))
    except FileNotFoundError:
        raise ConfigError(f"{path}: does not exist. {_ADVICE}") from None


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
    entries = " and ".join(f"the {kind} {quote(name)}" for kind, name in named.items() if name)
    # The service account has no contexts to choose from.
    if entries:
        raise ConfigError(_not_found(f"{entries} cannot be looked up without a kubeconfig", tried))
    if overrides.get("server"):
        # A pod's token must not be sent to another server than the pod's own.
        return ResolvedContext(cluster=KubeconfigCluster(), user=KubeconfigUser(), origin="what was given")
    try:
        found = resolve_in_cluster(environ, service_account)
    except ConfigError as error:
        raise ConfigError(_not_found("no cluster was found", [*tried, str(error)])) from None
    # KUBECONFIG was set on purpose; to ignore it silently would surprise.
    if listed_in(environ):
        _log.warning("%s; so it is the pod's service account that is used", "; ".join(tried))
    return found


def _not_found(what: str, tried: list[str]) -> str:
    return "\n".join([f"{what}:", *(f"  - {source}" for source in tried), _ADVICE])
