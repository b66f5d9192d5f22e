"""Where a cluster is and who we are there, as plain values."""

# ruff: noqa: RUF009 - the calls make descriptors, of which a class has one for all its instances

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from masthead._config.address import split_address, without_userinfo
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
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Config", "ExecConfig", "Impersonation", "OidcConfig"]

_SECRETS: Final = frozenset({"token", "password", "client_key_data", "proxy_url"})
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


@dataclass(frozen=True, kw_only=True)
class ExecConfig:
    """A program that prints credentials, as a kubeconfig's ``exec`` says.

    Attributes:
        command: The program; with a separator in it a path, else looked up in ``PATH``.
        args: Its arguments. May hold secrets, so the repr leaves them out.
        env: What to add to its environment. May hold secrets, so the repr leaves it out.
        api_version: ``client.authentication.k8s.io/v1`` or ``…/v1beta1``.
        install_hint: What to tell someone who does not have the program.
        provide_cluster_info: Whether to tell it about the cluster.
        interactive_mode: ``Never``, ``IfAvailable`` or ``Always``: whether it may ask the person at the terminal.
        cluster_config: What the kubeconfig's cluster has for plugins, in the extension
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


@dataclass(frozen=True, kw_only=True)
class OidcConfig:
    """How to renew an OpenID Connect token, as a kubeconfig's ``auth-provider`` named ``oidc`` says.

    Attributes:
        issuer: The issuer's address.
        client_id: Who we are to the issuer.
        client_secret: Its password; may be empty.
        id_token: The token to send, as long as it lasts.
        refresh_token: What a new one is had for.
        ca_file: The authority to trust for the issuer.
        ca_data: The same, in PEM.
        kubeconfig: The file that the user came from, to which new tokens are written back; None to keep them here.
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
    """Take secrets out of sight before the dataclass' own ``__init__``, whose frame would show its arguments."""
    init = cls.__init__

    @functools.wraps(init)
    def init_with_hidden_arguments(self: _ConfigT, **given: Any) -> None:  # noqa: ANN401 - the class' own fields
        _wrap_secrets(given)
        init(self, **given)

    setattr(cls, "__init__", init_with_hidden_arguments)  # noqa: B010 - no checker lets a method be assigned
    return cls


def _wrap_secrets(given: dict[str, Any]) -> None:
    """Hide what is secret among a configuration's arguments, and take name and password out of its address."""
    for name in _SECRETS & given.keys():
        if isinstance(given[name], str):
            given[name] = Secret(given[name])
    server, username, password = without_userinfo(reveal(given.get("server", "")))
    if "server" in given:
        given["server"] = server
    if (username or password) and not any(given.get(name) for name in _CREDENTIALS):
        given |= {"username": username, "password": password}


@dataclass(frozen=True, kw_only=True)
class Impersonation:
    """As whom to act.

    Attributes:
        user: The user's name.
        uid: The user's uid.
        groups: The groups to be in.
        extra: What else the server is to believe of the user.
    """

    user: str
    uid: str = ""
    groups: TextsField = TextsField()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@_hide_secret_arguments
@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that is needed to reach one cluster as one user.

    Usually loaded: `load`, `from_kubeconfig`, `in_cluster`. Made by hand, only what is needed is given::

        Config(server="https://10.0.0.1:6443", token="...", ca_file="ca.crt")

    Paths may be given as text, and so may secrets, which are never shown. A name and password in the server's
    address are taken out of it; they count only where no other credential is given.

    Attributes:
        server: The API server's address, perhaps with a path.
        namespace: Where objects are when nobody says otherwise.
        ca_file: The authority to trust, in PEM; read again when it changes.
        ca_data: The same, as PEM text. Neither: what the machine trusts.
        insecure: Trust anybody.
        tls_server_name: The name that the server's certificate must have, if it is not the address'.
        proxy_url: Through which proxy to go: ``http``, ``https``, ``socks5`` or ``socks5h``; empty for none. What is
            loaded has the environment's already (see `proxy_for`).
        disable_compression: Do not ask for compressed answers.
        allow_plain_http: Send credentials without TLS to servers that are not on this machine.
        token: A bearer token.
        token_file: A file with a bearer token; read again when it changes.
        username: For basic authentication.
        password: For basic authentication.
        client_certificate_file: A client certificate in PEM; read again when it changes. It is shown in TLS, so that
            as the only credential it needs a server that speaks ``https``.
        client_certificate_data: The same, as PEM text.
        client_key_file: Its key.
        client_key_data: The same, as PEM text.
        exec: A program that prints credentials.
        oidc: An OpenID Connect token that is renewed.
        impersonate: As whom to act.
        origin: Where this was read from, for messages.

    Raises:
        ConfigError: If it cannot be used; the message lists everything that is wrong.
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
    # Some put a token where the name belongs.
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
        scheme, separator, rest = self.server.partition("://")
        object.__setattr__(self, "server", f"{scheme}{separator}{rest.rstrip('/')}")
        if problems := find_problems(self):
            listed = (
                f" {problems[0]}" if len(problems) == 1 else "".join(f"\n  - {each}" for each in problems)
            )
            raise ConfigError(f"{self.origin or 'this configuration'} cannot be used:{listed}")

    @property
    def sends_authorization(self) -> bool:
        """Whether requests carry a credential, beside what TLS shows."""
        return bool(self.token or self.token_file or self.username or self.password or self.exec or self.oidc)

    @property
    def speaks_plain_http(self) -> bool:
        """Whether the server is spoken to without TLS."""
        return self.server.lower().startswith("http:")

    def describe(self) -> str:
        """One line for logs: where, as whom, and where that was read; no secrets."""
        parts = [f"{self.server} with {self._shows()}", f"namespace {self.namespace}"]
        if self.impersonate is not None:
            parts.append(f"acting as {self.impersonate.user}")
        if self.proxy_url:
            parts.append(f"through {split_address(self.proxy_url)}")
        if self.origin:
            parts.append(f"from {self.origin}")
        return ", ".join(parts)

    def _shows(self) -> str:
        """The credentials by name, strongest first."""
        words = {
            "a client certificate": self.client_certificate_file or self.client_certificate_data,
            "a token": self.token,
            f"the token in {self.token_file}": self.token_file,
            "a password": self.username or self.password,
            f"the program {self.exec.command if self.exec else ''}": self.exec,
            "OpenID Connect": self.oidc,
        }
        return " and ".join(word for word, is_given in words.items() if is_given) or "no credentials"
