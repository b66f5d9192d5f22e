"""``masthead config``: the names of clusters and users, and the removal of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.completion import complete_clusters, complete_contexts, complete_users
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.kubeconfig_fields import ENTRY_KEYS
from masthead._cli.kubeconfigs import KubeconfigFiles, remove_entry
from masthead._cli.references import nearest
from masthead._cli.terminal import say, write

if TYPE_CHECKING:
    from masthead._cli.kubeconfigs import Section
    from masthead._cli.shared_options import State

__all__ = ["delete_cluster", "delete_context", "delete_user", "get_clusters", "get_users"]


@cluster_command("get-clusters")
@click.pass_obj
def get_clusters(state: State) -> int:
    """List the names of the clusters."""
    return _list_names(state, "clusters")


@cluster_command("get-users")
@click.pass_obj
def get_users(state: State) -> int:
    """List the names of the users."""
    return _list_names(state, "users")


def _list_names(state: State, section: Section) -> int:
    names = sorted(KubeconfigFiles.of(state.kubeconfig).load().entries(section))
    write("".join(f"{line}\n" for line in ("NAME", *names)))
    return ExitCode.OK


@cluster_command("delete-context")
@click.argument("name", shell_complete=complete_contexts)
@click.pass_obj
def delete_context(state: State, name: str) -> int:
    """Delete a context. Its cluster and its user stay."""
    if KubeconfigFiles.of(state.kubeconfig).load().current_context == name:
        say('warning: this removes your active context; "masthead config use-context" selects a different one')
    return _delete(state, "contexts", name)


@cluster_command("delete-cluster")
@click.argument("name", shell_complete=complete_clusters)
@click.pass_obj
def delete_cluster(state: State, name: str) -> int:
    """Delete a cluster."""
    return _delete(state, "clusters", name)


@cluster_command("delete-user")
@click.argument("name", shell_complete=complete_users)
@click.pass_obj
def delete_user(state: State, name: str) -> int:
    """Delete a user, with its credentials."""
    return _delete(state, "users", name)


def _delete(state: State, section: Section, name: str) -> int:
    files = KubeconfigFiles.of(state.kubeconfig)
    found = files.load().entries(section)
    kind = ENTRY_KEYS[section]
    if name not in found:
        raise CommandError(
            f"cannot delete {kind} {name}, not in {files.default}",
            hint=nearest(name, list(found)),
            code=ExitCode.NOT_FOUND,
        )
    path = found[name].path
    files.change(path, remove_entry(section, name))
    write(f"deleted {kind} {name} from {path}\n")
    return ExitCode.OK
