"""Parsing and merging of kubeconfigs.

content ──parse──> Kubeconfig ──┐
content ──parse──> Kubeconfig ──┴─merge──> Kubeconfig      the first definition of an entry wins
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

import msgspec

from masthead._config.model import ExecConfig, Impersonation
from masthead._config.yaml_node import YamlNode, YamlSource
from masthead._meta.names import quote
from masthead._meta.secret import Secret, SecretValue
from masthead._value import Value
from masthead.errors import ConfigError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = [
    "AuthProvider",
    "Kubeconfig",
    "KubeconfigCluster",
    "KubeconfigContent",
    "KubeconfigContext",
    "KubeconfigUser",
    "merge",
    "parse",
    "read_document",
]

KubeconfigContent: TypeAlias = "str | bytes | Mapping[str, object]"
"""A kubeconfig as text, or as plain data."""

_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
_TELLABLE: Final = re.compile(
    r'the key "[^"]{1,60}" appears twice|nested too deeply|expected one YAML document, got \d+ documents'
    r"|its aliases expand to over [\d,]+ values"
)
"""YAML errors that may be repeated in a message. Others quote the text, which may be a password."""
_LINE: Final = re.compile(r"\(line \d+[^()]*\)$")

_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeconfigCluster:
    """A ``cluster`` entry; the fields are those of `Config`. URLs may contain a password."""

    server: Secret = field(default_factory=Secret)
    tls_server_name: str = ""
    insecure: bool = False
    ca_file: Path | None = None
    ca_data: str = field(default="", repr=False)
    proxy_url: Secret = field(default_factory=Secret)
    disable_compression: bool = False
    exec_config: SecretValue[object] = field(default_factory=lambda: SecretValue[object](None))


class AuthProvider(Value):
    """An ``auth-provider`` entry, the predecessor of exec plugins."""

    name: str
    config: YamlNode


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeconfigUser:
    """A ``user`` entry; the fields are those of `Config`."""

    token: Secret = field(default_factory=Secret)
    token_file: Path | None = None
    username: str = field(default="", repr=False)
    password: Secret = field(default_factory=Secret)
    client_certificate_file: Path | None = None
    client_certificate_data: str = field(default="", repr=False)
    client_key_file: Path | None = None
    client_key_data: Secret = field(default_factory=Secret)
    exec: ExecConfig | None = None
    auth_provider: AuthProvider | None = None
    impersonate: Impersonation | None = None


class KubeconfigContext(Value, kw_only=True):
    """A ``context`` entry: cluster, user and namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class Kubeconfig(Value, kw_only=True):
    """A kubeconfig, or several merged.

    Attributes:
        name: Its name in messages.
        current_context: The current context.
        clusters: By name.
        users: By name.
        contexts: By name.
    """

    name: str
    current_context: str = ""
    clusters: Mapping[str, KubeconfigCluster] = msgspec.field(default_factory=dict[str, KubeconfigCluster])
    users: Mapping[str, KubeconfigUser] = msgspec.field(default_factory=dict[str, KubeconfigUser])
    contexts: Mapping[str, KubeconfigContext] = msgspec.field(default_factory=dict[str, KubeconfigContext])

    def __bool__(self) -> bool:
        """Whether it has any entry or a current context."""
        return bool(self.current_context or self.clusters or self.users or self.contexts)


def parse(content: KubeconfigContent | SecretValue[KubeconfigContent], source: YamlSource) -> Kubeconfig:
    """Parse a kubeconfig: YAML, JSON, or plain data.

    Raises:
        ConfigError: If it is not a kubeconfig, a known field has the wrong type, or a name is duplicated; the message
            names the field.
    """
    content = content if isinstance(content, SecretValue) else SecretValue(content)
    root = YamlNode(_plain(content, source), source)
    if not isinstance(root.value, dict | None):
        raise root.error("is not a kubeconfig: it is not a map")
    # kubectl accepts a file without kind and apiVersion, too.
    kind = root.at("kind").text() or "Config"
    version = root.at("apiVersion").text() or "v1"
    if (kind, version) != ("Config", "v1"):
        raise root.error(f"is not a kubeconfig but kind {quote(kind)} of apiVersion {quote(version)}")
    return Kubeconfig(
        name=source.name,
        current_context=root.at("current-context").text(),
        clusters=_read_entries(root.at("clusters"), "cluster", _cluster),
        users=_read_entries(root.at("users"), "user", _user),
        contexts=_read_entries(root.at("contexts"), "context", _context),
    )


def merge(kubeconfigs: Iterable[Kubeconfig]) -> Kubeconfig:
    """Merge kubeconfigs: of each entry, and of the current context, the first definition wins as a whole."""
    given = list(kubeconfigs)
    clusters: dict[str, KubeconfigCluster] = {}
    users: dict[str, KubeconfigUser] = {}
    contexts: dict[str, KubeconfigContext] = {}
    # Backwards, so that the first definition of a name replaces the later ones.
    for kubeconfig in reversed(given):
        clusters |= kubeconfig.clusters
        users |= kubeconfig.users
        contexts |= kubeconfig.contexts
    return Kubeconfig(
        name=os.pathsep.join(kubeconfig.name for kubeconfig in given),
        current_context=next((kubeconfig.current_context for kubeconfig in given if kubeconfig.current_context), ""),
        clusters=clusters,
        users=users,
        contexts=contexts,
    )


def read_document(content: SecretValue[str] | SecretValue[bytes], source: YamlSource) -> SecretValue[object]:
    """Parse the YAML document of a kubeconfig; return None if it is empty.

    Raises:
        ConfigError: If it is not YAML, or has several documents.
    """
    from masthead._meta import yaml  # a client in a pod reads none: PyYAML takes 10 ms to import

    try:
        documents = SecretValue(yaml.load_all(content.reveal()))
        count = len(documents.reveal())
        if count > 1:
            raise DecodeError(f"expected one YAML document, got {count} documents")
        return SecretValue(documents.reveal()[0] if count else None)
    except DecodeError as error:
        # Only known phrases: the parser quotes the text around an error, which may be a token.
        problem, line = _TELLABLE.search(error.problem), _LINE.search(error.problem)
    # Raised here, so that the traceback holds no frame with the text.
    reason = problem.group() if problem else "it is not YAML"
    raise ConfigError(
        " ".join([f"{source.name}: is not a kubeconfig: {reason}", line.group() if line else ""]).rstrip()
    )


def _plain(content: SecretValue[KubeconfigContent], source: YamlSource) -> SecretValue[object]:
    if isinstance(content.reveal(), str | bytes):
        return read_document(cast("SecretValue[str]", content), source)
    return SecretValue(dict(cast("Mapping[str, object]", content.reveal())))


def _read_entries(entries: YamlNode, key: str, read: Callable[[YamlNode], _Entry]) -> dict[str, _Entry]:
    found: dict[str, _Entry] = {}
    for entry in entries.items():
        name = entry.at("name").name()
        # client-go rejects it, too: nobody could say which of the two counts.
        if name in found:
            raise entry.at("name").error(f"{quote(name)} is duplicated; rename or remove one of the two")
        found[name] = read(entry.at(key))
    return found


def _cluster(node: YamlNode) -> KubeconfigCluster:
    ca_data = node.at("certificate-authority-data").decode_base64()
    return KubeconfigCluster(
        server=Secret(node.at("server").text()),
        tls_server_name=node.at("tls-server-name").text(),
        insecure=node.at("insecure-skip-tls-verify").flag(),
        ca_file=_unless(ca_data, node.at("certificate-authority")),
        ca_data=ca_data,
        proxy_url=Secret(node.at("proxy-url").text()),
        disable_compression=node.at("disable-compression").flag(),
        exec_config=_exec_extension(node.at("extensions")),
    )


def _exec_extension(extensions: YamlNode) -> SecretValue[object]:
    for item in extensions.items():
        if item.at("name").text() == _EXEC_EXTENSION:
            return item.at("extension").held
    return SecretValue(None)


def _user(node: YamlNode) -> KubeconfigUser:
    certificate = node.at("client-certificate-data").decode_base64()
    key = Secret(node.at("client-key-data").decode_base64())
    return KubeconfigUser(
        token=Secret(node.at("token").text()),
        token_file=node.at("tokenFile").file(),
        username=node.at("username").text(),
        password=Secret(node.at("password").text()),
        client_certificate_file=_unless(certificate, node.at("client-certificate")),
        client_certificate_data=certificate,
        client_key_file=_unless(key, node.at("client-key")),
        client_key_data=key,
        exec=_exec(node.at("exec")),
        auth_provider=_auth_provider(node.at("auth-provider")),
        impersonate=_impersonation(node),
    )


def _unless(data: object, file: YamlNode) -> Path | None:
    """Return the path, unless there is data, which takes precedence."""
    # Resolved in any case, so that an invalid path is reported.
    found = file.file()
    return None if data else found


def _exec(node: YamlNode) -> ExecConfig | None:
    if node.value is None:
        return None
    command = node.at("command").text()
    # A bare name is looked up in PATH; only paths are relative to the kubeconfig.
    is_path = any(separator in command for separator in (os.sep, os.altsep) if separator)
    return ExecConfig(
        command=str(node.source.resolve(command)) if is_path else command,
        args=node.at("args").texts(),
        env={item.at("name").name(): item.at("value").text() for item in node.at("env").items()},
        api_version=node.at("apiVersion").text(),
        install_hint=node.at("installHint").text(),
        provide_cluster_info=node.at("provideClusterInfo").flag(),
        # differs from client-go: it is optional in version v1, too.
        interactive_mode=node.at("interactiveMode").text() or "IfAvailable",
    )


def _auth_provider(node: YamlNode) -> AuthProvider | None:
    return None if node.value is None else AuthProvider(node.at("name").name(), node.at("config"))


def _impersonation(node: YamlNode) -> Impersonation | None:
    uid, groups = node.at("as-uid").text(), node.at("as-groups").texts()
    extra = {key: values.texts() for key, values in node.at("as-user-extra").entries().items()}
    user = node.at("as").text()
    if not (user or uid or groups or extra):
        return None
    return Impersonation(user=user, uid=uid, groups=groups, extra=extra)


def _context(node: YamlNode) -> KubeconfigContext:
    return KubeconfigContext(
        cluster=node.at("cluster").text(),
        user=node.at("user").text(),
        namespace=node.at("namespace").text(),
    )
