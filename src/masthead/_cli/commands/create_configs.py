"""``masthead create configmap`` and ``masthead create secret``."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from masthead._cli.creating import creation_options, make_metadata, print_generated, refuse, split_list
from masthead._cli.framework import cluster_command
from masthead._cli.generator_groups import generator_group
from masthead._cli.go_json import encode
from masthead._cli.key_sources import read_keys, suffix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Unpack

    from masthead._cli.creating import CreationArguments
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["configmap", "secret"]

F = TypeVar("F", bound="Callable[..., Any]")

_DOCKER_CONFIG: Final = ".dockerconfigjson"
_DOCKER_HUB: Final = "https://index.docker.io/v1/"


def _source_options(function: F) -> F:
    for option in (
        click.option(
            "--from-env-file",
            "env_files",
            multiple=True,
            callback=split_list,
            metavar="FILE",
            help="the lines KEY=VALUE of a file (can be repeated)",
        ),
        _files_option("the file's name is the key; of a folder, all files are taken"),
        click.option(
            "--from-literal", "literals", multiple=True, metavar="KEY=VALUE", help="a value (can be repeated)"
        ),
    ):
        function = option(function)
    return _hash_option(function)


def _files_option(text: str) -> Callable[[F], F]:
    return click.option(
        "--from-file",
        "files",
        multiple=True,
        callback=split_list,
        metavar="[KEY=]FILE",
        help=f"{text} (can be repeated)",
    )


def _hash_option(function: F) -> F:
    return click.option("--append-hash", "appends_hash", is_flag=True, help="append a hash of the content to the name")(
        function
    )


@cluster_command("configmap")
@click.argument("name")
@_source_options
@creation_options
@click.pass_obj
def configmap(
    state: State,
    /,
    name: str,
    literals: tuple[str, ...],
    files: tuple[str, ...],
    env_files: tuple[str, ...],
    appends_hash: bool,
    **options: Unpack[CreationArguments],
) -> int:
    """Create a ConfigMap from literals, files, folders or files of variables.

    \b
    masthead create configmap settings --from-literal=color=red
    masthead create configmap settings --from-file=nginx.conf --from-file=key=other.txt
    masthead create cm settings --from-env-file=app.env --dry-run=client -o yaml
    """
    obj = _make_config_map(name, state.namespace, read_keys(literals, files, env_files))
    return _print(state, obj, options, appends_hash=appends_hash)


def _make_config_map(name: str, namespace: str | None, found: Mapping[str, bytes]) -> Plain:
    data: dict[str, str] = {}
    binary: dict[str, str] = {}
    for key in sorted(found):
        try:
            data[key] = found[key].decode("utf-8")
        except UnicodeDecodeError:
            binary[key] = _encode(found[key])
    obj: Plain = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": make_metadata(name, namespace)}
    return obj | {field: values for field, values in (("data", data), ("binaryData", binary)) if values}


def _print(state: State, obj: Plain, options: CreationArguments, *, appends_hash: bool) -> int:
    # A new name for new content: pods that refer to it start again.
    if appends_hash:
        obj["metadata"]["name"] += f"-{suffix_of(obj)}"
    return print_generated(state, obj, options)


def _make_secret(name: str, namespace: str | None, kind: str, found: Mapping[str, bytes]) -> Plain:
    obj: Plain = {"kind": "Secret", "apiVersion": "v1", "metadata": make_metadata(name, namespace)}
    if found:
        obj["data"] = {key: _encode(found[key]) for key in sorted(found)}
    return obj | ({"type": kind} if kind else {})


def _encode(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


@cluster_command("generic")
@click.argument("name")
@_source_options
@click.option("--type", "kind", default="", metavar="TYPE", help="the type of the Secret")
@creation_options
@click.pass_obj
def _generic(
    state: State,
    /,
    name: str,
    literals: tuple[str, ...],
    files: tuple[str, ...],
    env_files: tuple[str, ...],
    appends_hash: bool,
    kind: str,
    **options: Unpack[CreationArguments],
) -> int:
    """Create a Secret from literals, files, folders or files of variables.

    \b
    masthead create secret generic database --from-literal=password=swordfish
    masthead create secret generic ssh --type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=id_rsa
    """
    obj = _make_secret(name, state.namespace, kind, read_keys(literals, files, env_files))
    return _print(state, obj, options, appends_hash=appends_hash)


@cluster_command("tls")
@click.argument("name")
@click.option("--cert", "certificate", required=True, metavar="FILE", help="the certificate, as PEM")
@click.option("--key", required=True, metavar="FILE", help="its private key, as PEM")
@_hash_option
@creation_options
@click.pass_obj
def _tls(
    state: State,
    /,
    name: str,
    certificate: str,
    key: str,
    appends_hash: bool,
    **options: Unpack[CreationArguments],
) -> int:
    """Create a Secret with a certificate and its private key.

    \b
    masthead create secret tls web --cert=tls.crt --key=tls.key
    """
    _refuse_wrong_pair(certificate, key)
    found = {"tls.crt": Path(certificate).read_bytes(), "tls.key": Path(key).read_bytes()}
    obj = _make_secret(name, state.namespace, "kubernetes.io/tls", found)
    return _print(state, obj, options, appends_hash=appends_hash)


def _refuse_wrong_pair(certificate: str, key: str) -> None:
    import ssl

    # A pipe, as of a shell's <(...), can be read once only.
    if not (Path(certificate).is_file() and Path(key).is_file()):
        return

    def refuse_password() -> str:
        raise refuse(f"{key} is encrypted", hint="decrypt it: openssl pkey -in FILE")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Whether a key is long enough is for those to judge who use it.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    try:
        context.load_cert_chain(certificate, key, refuse_password)
    except ssl.SSLError as error:
        problem = error.reason.lower().replace("_", " ") if error.reason else "they are not PEM"
        raise refuse(f"{certificate} and {key} are no certificate and its private key: {problem}") from None


@cluster_command("docker-registry")
@click.argument("name")
@click.option(
    "--docker-server", "server_name", default=_DOCKER_HUB, show_default=True, metavar="URL", help="the registry"
)
@click.option("--docker-username", "username", default="", metavar="NAME", help="the user")
@click.option("--docker-password", "password", default="", metavar="PASSWORD", help="the password")
@click.option("--docker-email", "email", default="", metavar="ADDRESS", help="the user's e-mail address")
@_files_option("a configuration of docker, instead of the other options")
@_hash_option
@creation_options
@click.pass_obj
def _docker_registry(
    state: State,
    /,
    name: str,
    server_name: str,
    username: str,
    password: str,
    email: str,
    files: tuple[str, ...],
    appends_hash: bool,
    **options: Unpack[CreationArguments],
) -> int:
    """Create a Secret with the credentials of an image registry.

    \b
    masthead create secret docker-registry pull --docker-server=registry.example.com \\
        --docker-username=me --docker-password=swordfish
    masthead create secret docker-registry pull --from-file=$HOME/.docker/config.json
    """
    # The one key that the kubelet reads.
    if files:
        named = [file if "=" in file else f"{_DOCKER_CONFIG}={file}" for file in files]
        found = read_keys((), named, ())
    elif username and password and server_name:
        found = {_DOCKER_CONFIG: _docker_config(server_name, username, password, email).encode()}
    else:
        raise refuse("name a file with --from-file, or the user with --docker-username and --docker-password")
    obj = _make_secret(name, state.namespace, "kubernetes.io/dockerconfigjson", found)
    return _print(state, obj, options, appends_hash=appends_hash)


def _docker_config(server: str, username: str, password: str, email: str) -> str:
    entry = {"username": username, "password": password, **({"email": email} if email else {})}
    entry["auth"] = _encode(f"{username}:{password}".encode())
    return encode({"auths": {server: entry}})


secret = generator_group(
    "secret",
    (_docker_registry, _generic, _tls),
    help_="""Create a Secret.

    \b
    masthead create secret generic database --from-literal=password=swordfish
    masthead create secret tls web --cert=tls.crt --key=tls.key
    masthead create secret docker-registry pull --from-file=config.json
    """,
)
