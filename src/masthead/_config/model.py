"""The client configuration as frozen values."""

# ruff: noqa: RUF009 - the calls create descriptors, which all instances share

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from masthead._config.address import mask_token, split_address, with_scheme, without_token, without_userinfo
from masthead._config.descriptors import (
    PathField,
    RedactedField,
    RedactedTextField,
    RedactedTextsField,
    SecretField,
    TextsField,
)
from masthead._config.validation import find_problems
from masthead._meta.secret import Secret, reveal
from masthead._module import set_module
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Config", "ExecConfig", "Impersonation", "OidcConfig"]

_SECRETS: Final = frozenset({"token", "password", "client_key_data", "proxy_url"})
_TLS: Final = ("ca_file", "ca_data", "insecure", "client_certificate_file", "client_certificate_data")
_CREDENTIALS: Final = ("token", "token_file", "username", "password", "exec", "oidc")

_ConfigT = TypeVar("_ConfigT")


class _EnvField(RedactedField["Mapping[str, str]", "Mapping[str, str]"]):
    def __init__(self) -> None:
        super().__init__({})

    def convert(self, given: Mapping[str, str]) -> Mapping[str, str]:
        return dict(given)


class _PlainField(RedactedField[object, object]):
    def __init__(self) -> None:
        super().__init__(None)

    def convert(self, given: object) -> object:
        return given


@set_module("masthead.config")
@dataclass(frozen=True, kw_only=True)
class ExecConfig:
    """An exec credential plugin: ``exec`` in a kubeconfig.

    Attributes:
        command: The program: a path if it contains a separator, else looked up in ``PATH``.
        args: Its arguments. They may contain secrets, and are not in the repr.
        env: Additional environment variables. They may contain secrets, and are not in the repr.
        api_version: ``client.authentication.k8s.io/v1`` or ``…/v1beta1``.
        install_hint: Shown if the program is not installed.
        provide_cluster_info: Whether it receives the data of the cluster.
        interactive_mode: ``Never``, ``IfAvailable`` or ``Always``: whether it may prompt on the terminal.
        cluster_config: The plugin's configuration in the cluster entry: the extension
            ``client.authentication.k8s.io/exec``.
    """

    command: str
    args: RedactedTextsField = field(default=RedactedTextsField(), repr=False)
    env: _EnvField = field(default=_EnvField(), repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"
    cluster_config: _PlainField = field(default=_PlainField(), repr=False)


@set_module("masthead.config")
@dataclass(frozen=True, kw_only=True)
class OidcConfig:
    """An OpenID Connect user: the ``auth-provider`` named ``oidc`` in a kubeconfig.

    Attributes:
        issuer: The issuer's URL.
        client_id: The OAuth client id.
        client_secret: The OAuth client secret; may be empty.
        id_token: The current ID token.
        refresh_token: The refresh token.
        ca_file: The certificate authority of the issuer.
        ca_data: The same, in PEM.
        kubeconfig: The kubeconfig that new tokens are written to; None to keep them in memory.
        user: The user's name in that file.
    """

    issuer: str
    client_id: str
    client_secret: SecretField = SecretField()
    id_token: SecretField = SecretField()
    refresh_token: SecretField = SecretField()
    ca_file: PathField = PathField()
    ca_data: str = field(default="", repr=False)
    kubeconfig: PathField = PathField()
    user: str = ""


def _hide_secret_arguments(cls: type[_ConfigT]) -> type[_ConfigT]:
    """Wrap secret arguments before the dataclass' own ``__init__``, whose frame would show them in a traceback."""
    init = cls.__init__

    @functools.wraps(init)
    def init_with_hidden_arguments(self: _ConfigT, **given: Any) -> None:  # noqa: ANN401 - the class' own fields
        _wrap_secrets(given)
        init(self, **given)

    setattr(cls, "__init__", init_with_hidden_arguments)  # noqa: B010 - no checker lets a method be assigned
    return cls


def _wrap_secrets(given: dict[str, Any]) -> None:
    """Wrap the secret arguments of a configuration, and move user and password out of its URL."""
    for name in _SECRETS & given.keys():
        # Before the generated constructor runs, whose frame a traceback would show.
        if isinstance(given[name], str):
            given[name] = Secret(given[name])
    address = without_token(reveal(given.get("server", "")), reveal(given.get("token", "")))
    address = with_scheme(address, has_tls=any(given.get(name) for name in _TLS))
    server, username, password = without_userinfo(address)
    if "server" in given:
        given["server"] = server
    # A user in the URL counts only if nothing else authenticates.
    if (username or password) and not any(given.get(name) for name in _CREDENTIALS):
        given |= {"username": username, "password": password}


@set_module("masthead.config")
@dataclass(frozen=True, kw_only=True)
class Impersonation:
    """The user to impersonate.

    Attributes:
        user: The user name.
        uid: The uid.
        groups: The groups.
        extra: The extra fields of the user info.
    """

    user: str
    uid: str = ""
    groups: TextsField = TextsField()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@set_module("masthead")
@_hide_secret_arguments
@dataclass(frozen=True, kw_only=True)
class Config:
    """The configuration of a client: one cluster and one user.

    Usually loaded by `load`, `from_kubeconfig` or `in_cluster`, but it can also be created directly::

        Config(server="https://10.0.0.1:6443", token="...", ca_file="ca.crt")

    Paths and secrets may be given as strings; messages and reprs hide secrets. User and password in the server's URL
    are moved out of it, and used only if no other credential is given. A path segment that begins with ``~``, where the
    embedded server's kubeconfig has a token, is masked in reprs and messages.

    Attributes:
        server: The API server's URL, optionally with a path. ``host:port`` is completed: ``https`` if anything about
            TLS is configured, else ``http`` for this machine only.
        namespace: The default namespace.
        ca_file: The trusted certificate authority, in PEM; read again when it changes.
        ca_data: The same, as PEM text. With neither, the system's authorities are trusted.
        insecure: Whether the server's certificate is not verified.
        tls_server_name: The server name in TLS, if it is not the host of the URL.
        proxy_url: The proxy: ``http``, ``https``, ``socks5`` or ``socks5h``; empty for none. A loaded configuration has
            that of the environment (see `proxy_for`).
        disable_compression: Whether compressed responses are not requested.
        allow_plain_http: Whether credentials may be sent without TLS to servers that are not on this machine.
        token: A bearer token.
        token_file: A file with a bearer token; read again when it changes.
        username: For basic authentication.
        password: For basic authentication.
        client_certificate_file: A client certificate in PEM; read again when it changes. It is used in TLS only: as the
            only credential it needs an ``https`` server.
        client_certificate_data: The same, as PEM text.
        client_key_file: The client key, in PEM.
        client_key_data: The same, as PEM text.
        exec: An exec credential plugin.
        oidc: An OpenID Connect user.
        impersonate: The user to impersonate.
        origin: Where the configuration was loaded from, for messages.

    Raises:
        ConfigError: If it is invalid; the message lists all problems.
    """

    server: str
    namespace: str = "default"
    ca_file: PathField = PathField()
    ca_data: str = field(default="", repr=False)
    insecure: bool = False
    tls_server_name: str = ""
    proxy_url: RedactedTextField = field(default=RedactedTextField(), repr=False)
    disable_compression: bool = False
    allow_plain_http: bool = False
    token: SecretField = SecretField()
    token_file: PathField = PathField()
    # Hidden, because some put a token there.
    username: str = field(default="", repr=False)
    password: SecretField = SecretField()
    client_certificate_file: PathField = PathField()
    client_certificate_data: str = field(default="", repr=False)
    client_key_file: PathField = PathField()
    client_key_data: SecretField = SecretField()
    exec: ExecConfig | None = None
    oidc: OidcConfig | None = None
    impersonate: Impersonation | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        # A trailing slash would double the slash of every path.
        scheme, separator, rest = self.server.partition("://")
        object.__setattr__(self, "server", f"{scheme}{separator}{rest.rstrip('/')}")
        if problems := find_problems(self):
            listed = f" {problems[0]}" if len(problems) == 1 else "".join(f"\n  - {problem}" for problem in problems)
            raise ConfigError(f"{self.origin or 'this configuration'} is invalid:{listed}")

    def __repr__(self) -> str:
        shown = {declared.name: getattr(self, declared.name) for declared in fields(self) if declared.repr}
        shown["server"] = mask_token(self.server)
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    @property
    def sends_authorization(self) -> bool:
        """Whether requests carry a credential in a header."""
        return bool(self.token or self.token_file or self.username or self.password or self.exec or self.oidc)

    @property
    def speaks_plain_http(self) -> bool:
        """Whether the server is used without TLS."""
        return self.server.lower().startswith("http:")

    def describe(self) -> str:
        """Describe server, credentials and origin in one line for logs, without secrets."""
        parts = [f"{mask_token(self.server)} with {self._shows()}", f"namespace {self.namespace}"]
        if self.impersonate is not None:
            parts.append(f"acting as {self.impersonate.user}")
        if self.proxy_url:
            parts.append(f"through {split_address(self.proxy_url)}")
        if self.origin:
            parts.append(f"from {self.origin}")
        return ", ".join(parts)

    def _shows(self) -> str:
        """Return the names of the credentials, in order of precedence."""
        words = {
            "a client certificate": self.client_certificate_file or self.client_certificate_data,
            "a token": self.token,
            f"the token in {self.token_file}": self.token_file,
            "a password": self.username or self.password,
            f"the program {self.exec.command if self.exec else ''}": self.exec,
            "OpenID Connect": self.oidc,
        }
        return " and ".join(word for word, is_given in words.items() if is_given) or "no credentials"
