"""Changes of clusters and users of a kubeconfig. They read the files that are embedded, and write nothing."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from masthead._cli.failures import CommandError, ExitCode
from masthead._meta.plain import entries, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._meta.plain import Plain

__all__ = [
    "ClusterChange",
    "UserChange",
    "change_cluster",
    "change_user",
    "parse_pairs",
    "refuse_bad_cluster",
    "refuse_bad_user",
]


class ClusterChange(TypedDict):
    """The options of ``set-cluster``; None for unset ones."""

    address: str | None
    tls_server_name: str | None
    skips_verification: bool | None
    certificate_authority: str | None
    embed_certs: bool | None
    proxy_url: str | None


class UserChange(TypedDict):
    """The options of ``set-credentials``; None or empty for unset ones."""

    client_certificate: str | None
    client_key: str | None
    embed_certs: bool | None
    bearer_token: str | None
    username: str | None
    password: str | None
    auth_provider: str | None
    auth_provider_args: tuple[str, ...]
    exec_command: str | None
    exec_api_version: str | None
    exec_args: tuple[str, ...]
    exec_env: tuple[str, ...]
    exec_interactive_mode: str | None
    exec_provide_cluster_info: bool | None


def _refuse_without_files(embed: bool | None, files: Mapping[str, str | None]) -> None:
    if not embed:
        return
    if not any(files.values()):
        raise CommandError(f"you must specify a {' or '.join(files)} to embed", code=ExitCode.USAGE)
    for option, file in files.items():
        if file and not Path(file).is_file():
            raise CommandError(f"{option}: {file} does not exist", code=ExitCode.USAGE)


def change_cluster(content: Plain, change: ClusterChange, folder: Path) -> None:
    """Change a cluster in place.

    Args:
        content: Its fields.
        change: The options.
        folder: That of the kubeconfig: paths of files below it are stored as relative ones.

    Raises:
        OSError: If a file cannot be read.
    """
    if (address := change["address"]) is not None:
        content["server"] = address
        # It was the name of another server.
        content.pop("tls-server-name", None)
    _set(content, {"tls-server-name": change["tls_server_name"], "proxy-url": change["proxy_url"]})
    if (skips := change["skips_verification"]) is not None:
        _set(content, {"insecure-skip-tls-verify": skips})
        if skips:
            _set(content, {"certificate-authority": "", "certificate-authority-data": ""})
    authority = change["certificate_authority"]
    if authority is not None:
        _set_file(content, "certificate-authority", authority, folder, embed=bool(change["embed_certs"]))
        if authority:
            content.pop("insecure-skip-tls-verify", None)


def refuse_bad_cluster(change: ClusterChange) -> None:
    """Check the options of a cluster.

    Raises:
        CommandError: If they exclude each other, or a file is missing.
    """
    if change["skips_verification"] and change["certificate_authority"]:
        raise CommandError(
            "you cannot specify a certificate authority and insecure mode at the same time", code=ExitCode.USAGE
        )
    _refuse_without_files(change["embed_certs"], {"--certificate-authority": change["certificate_authority"]})


def refuse_bad_user(change: UserChange) -> None:
    """Check the options of a user.

    Raises:
        CommandError: If they exclude each other, or a file is missing.
    """
    if change["bearer_token"] and (change["username"] or change["password"]):
        raise CommandError(
            "you cannot specify more than one authentication method at the same time: --token, --username/--password",
            code=ExitCode.USAGE,
        )
    files = {"--client-certificate": change["client_certificate"], "--client-key": change["client_key"]}
    _refuse_without_files(change["embed_certs"], files)
    for option, pairs in (
        ("--auth-provider-arg", change["auth_provider_args"]),
        ("--exec-env", change["exec_env"]),
    ):
        parse_pairs(option, pairs)


def change_user(content: Plain, change: UserChange, folder: Path) -> None:
    """Change a user in place.

    Args:
        content: Its fields.
        change: The options.
        folder: That of the kubeconfig: paths of files below it are stored as relative ones.

    Raises:
        OSError: If a file cannot be read.
    """
    for field, file in (("client-certificate", change["client_certificate"]), ("client-key", change["client_key"])):
        if file is not None:
            _set_file(content, field, file, folder, embed=bool(change["embed_certs"]))
    fields = {"token": change["bearer_token"], "username": change["username"], "password": change["password"]}
    _set(content, fields)
    # A user has one way to authenticate: the new one replaces the other.
    if change["bearer_token"]:
        _set(content, {"username": "", "password": ""})
    elif change["username"] or change["password"]:
        _set(content, {"token": ""})
    _change_provider(content, change)
    _change_exec(content, change)


def _change_provider(content: Plain, change: UserChange) -> None:
    name = change["auth_provider"]
    provider = dict(content.get("auth-provider") or {})
    if name is not None and text(provider, "name") != name:
        provider = {"name": name, "config": None}
    if not provider:
        return
    new, removed = parse_pairs("--auth-provider-arg", change["auth_provider_args"])
    config = {key: value for key, value in part(provider, "config").items() if key not in removed}
    content["auth-provider"] = {**provider, "config": {**config, **new}}


def _change_exec(content: Plain, change: UserChange) -> None:
    plugin = dict(content.get("exec") or {})
    if (command := change["exec_command"]) is not None:
        # The arguments were those of another program.
        plugin = {"env": None, "provideClusterInfo": False, **plugin, "command": command, "args": None}
    # As in kubectl, the other options are for a user that has a plugin.
    if not plugin:
        return
    _set(plugin, {"apiVersion": change["exec_api_version"], "interactiveMode": change["exec_interactive_mode"]})
    if (provides := change["exec_provide_cluster_info"]) is not None:
        plugin["provideClusterInfo"] = provides
    if change["exec_args"]:
        plugin["args"] = [argument for value in change["exec_args"] for argument in value.split(",")]
    if change["exec_env"]:
        plugin["env"] = _changed_env(entries(plugin, "env"), change["exec_env"])
    content["exec"] = plugin


def _changed_env(env: Iterable[Plain], pairs: tuple[str, ...]) -> list[Plain]:
    new, removed = parse_pairs("--exec-env", pairs)
    values = {text(item, "name"): text(item, "value") for item in env} | new
    return [{"name": name, "value": value} for name, value in values.items() if name not in removed]


def parse_pairs(option: str, pairs: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """Return what KEY=VALUE sets, and what KEY- removes.

    Raises:
        CommandError: If one is neither.
    """
    new: dict[str, str] = {}
    removed: set[str] = set()
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if equals and key:
            new[key] = value
        elif pair.endswith("-") and pair != "-":
            removed.add(pair[:-1])
        else:
            raise CommandError(f"{option}: {pair!r} is neither KEY=VALUE nor KEY-", code=ExitCode.USAGE)
    if both := removed.intersection(new):
        raise CommandError(f"{option}: {min(both)} is both set and removed", code=ExitCode.USAGE)
    return new, removed


def _set(content: Plain, fields: Mapping[str, Any]) -> None:
    """Set fields that are given; an empty value removes one."""
    for field, value in fields.items():
        if value:
            content[field] = value
        elif value is not None:
            content.pop(field, None)


def _set_file(content: Plain, field: str, file: str, folder: Path, *, embed: bool) -> None:
    """Set the path of a file, or its content; the other one goes."""
    if embed and file:
        _set(content, {field: "", f"{field}-data": base64.b64encode(Path(file).read_bytes()).decode()})
    else:
        _set(content, {field: _relative_to(folder, file), f"{field}-data": "" if file else None})


def _relative_to(folder: Path, file: str) -> str:
    if not file:
        return ""
    # Not resolve(): a link to a certificate may be renewed.
    path = Path(os.path.abspath(file))  # noqa: PTH100 - Path.absolute() keeps the dots
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
