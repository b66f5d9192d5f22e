"""``masthead config``: kubeconfig files, without a cluster."""

from __future__ import annotations

from masthead._cli.command_groups import command_group
from masthead._cli.commands.config_contexts import (
    current_context,
    get_contexts,
    rename_context,
    set_context,
    use_context,
)
from masthead._cli.commands.config_entries import set_cluster, set_credentials
from masthead._cli.commands.config_lists import (
    delete_cluster,
    delete_context,
    delete_user,
    get_clusters,
    get_users,
)
from masthead._cli.commands.config_properties import set_property, unset_property
from masthead._cli.commands.config_view import view

__all__ = ["command"]

command = command_group(
    "config",
    (
        get_contexts,
        current_context,
        use_context,
        set_context,
        rename_context,
        delete_context,
        view,
        get_clusters,
        set_cluster,
        delete_cluster,
        get_users,
        set_credentials,
        delete_user,
        set_property,
        unset_property,
    ),
    help_="""Show and change kubeconfig files. No request is sent.

    The files are that of --kubeconfig, else those of KUBECONFIG, else ~/.kube/config. Each entry is changed in the file
    that has it; new ones, and the current context, go to the first file that exists. A file that is changed loses its
    comments.

    \b
    masthead config get-contexts
    masthead config use-context prod
    masthead config set-context --current --namespace=shop
    masthead config view --minify
    """,
)
