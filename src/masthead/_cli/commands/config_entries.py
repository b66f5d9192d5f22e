"""``masthead config``: commands that create and change clusters and users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from masthead._cli.completion import complete_clusters, complete_users
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, switch_option
from masthead._cli.kubeconfig_edits import (
    ClusterChange,
    UserChange,
    change_cluster,
    change_user,
    refuse_bad_cluster,
    refuse_bad_user,
)
from masthead._cli.kubeconfigs import KubeconfigFiles, change_entry
from masthead._cli.terminal import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from masthead._cli.kubeconfigs import Section
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["set_cluster", "set_credentials"]


@cluster_command("set-cluster")
@click.argument("name", shell_complete=complete_clusters)
@click.option("--server", "address", metavar="URL", help="the address of the API server")
@click.option("--certificate-authority", metavar="FILE", type=click.Path(), help="the certificate authority, in PEM")
@switch_option("--embed-certs", help_="store the content of the file instead of its path")
@switch_option("--insecure-skip-tls-verify", "skips_verification", help_="do not verify the server's certificate")
@click.option("--tls-server-name", metavar="NAME", help="the name in the certificate, if it is not that of the address")
@click.option("--proxy-url", metavar="URL", help="the proxy")
@click.pass_obj
def set_cluster(state: State, name: str, **change: Unpack[ClusterChange]) -> int:
    """Create a cluster, or change some of its fields. An empty value removes one.

    \b
    masthead config set-cluster dev --server=https://10.0.0.1:6443
    masthead config set-cluster dev --certificate-authority=ca.crt --embed-certs
    """
    if change["address"] is None:
        change["address"] = state.server
    refuse_bad_cluster(change)
    _change(state, "clusters", name, lambda content, folder: change_cluster(content, change, folder))
    write(f'Cluster "{name}" set.\n')
    return ExitCode.OK


@cluster_command("set-credentials")
@click.argument("name", shell_complete=complete_users)
@click.option("--client-certificate", metavar="FILE", type=click.Path(), help="the client certificate, in PEM")
@click.option("--client-key", metavar="FILE", type=click.Path(), help="its key, in PEM")
@switch_option("--embed-certs", help_="store the content of the files instead of their paths")
@click.option("--token", "bearer_token", metavar="TOKEN", help="a bearer token; excludes a password")
@click.option("--username", metavar="NAME", help="for basic authentication")
@click.option("--password", metavar="PASSWORD", help="for basic authentication")
@click.option("--auth-provider", metavar="NAME", help="the auth provider, such as oidc")
@click.option(
    "--auth-provider-arg",
    "auth_provider_args",
    multiple=True,
    metavar="KEY=VALUE",
    help="set a value of its configuration, or remove it: KEY-",
)
@click.option("--exec-command", metavar="PROGRAM", help="the credential plugin")
@click.option("--exec-api-version", metavar="VERSION", help="client.authentication.k8s.io/v1, for example")
@click.option(
    "--exec-arg", "exec_args", multiple=True, metavar="ARG,...", help="its arguments, which replace all others"
)
@click.option(
    "--exec-env",
    "exec_env",
    multiple=True,
    metavar="KEY=VALUE",
    help="set a variable of its environment, or remove it: KEY-",
)
@click.option(
    "--exec-interactive-mode",
    type=click.Choice(("Never", "IfAvailable", "Always")),
    help="whether it may ask on the terminal",
)
@switch_option("--exec-provide-cluster-info", help_="whether it gets the data of the cluster")
@click.pass_obj
def set_credentials(state: State, name: str, **change: Unpack[UserChange]) -> int:
    """Create a user, or change some of its credentials. An empty value removes one.

    Token and password exclude each other: a new one of them replaces the other.

    \b
    masthead config set-credentials dev --token=$(cat token)
    masthead config set-credentials dev --client-certificate=dev.crt --client-key=dev.key --embed-certs
    masthead config set-credentials dev --exec-command=aws --exec-arg=eks,get-token
    """
    if change["bearer_token"] is None:
        change["bearer_token"] = state.token
    refuse_bad_user(change)
    _change(state, "users", name, lambda content, folder: change_user(content, change, folder))
    write(f'User "{name}" set.\n')
    return ExitCode.OK


def _change(state: State, section: Section, name: str, edit: Callable[[Plain, Path], None]) -> None:
    """Change an entry in its file.

    Raises:
        CommandError: If the name is empty.
        ConfigError: If the file cannot be read or written.
    """
    if not name:
        raise CommandError("you must specify a non-empty name", code=ExitCode.USAGE)
    files = KubeconfigFiles.of(state.kubeconfig)
    found = files.load().entries(section)
    path = found[name].path if name in found else files.default
    folder = path.absolute().parent
    files.change(path, change_entry(section, name, lambda content: edit(content, folder)))
