"""``masthead annotate``: sets and removes annotations of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.completion import complete_references
from masthead._cli.framework import cluster_command
from masthead._cli.metadata_changes import change_options, run_change
from masthead._cli.subjects import selection_options, write_options

if TYPE_CHECKING:
    from typing import Unpack

    from masthead._cli.metadata_changes import ChangeArguments
    from masthead._cli.shared_options import State

__all__ = ["command"]


@cluster_command("annotate", all_namespaces=True)
@click.argument(
    "words", nargs=-1, metavar="[KIND[/NAME] [NAME]...] KEY=VALUE... KEY-...", shell_complete=complete_references
)
@selection_options
@change_options
@write_options
@click.pass_obj
def command(state: State, **arguments: Unpack[ChangeArguments]) -> int:
    """Set annotations, KEY=VALUE, or remove them, KEY-.

    \b
    masthead annotate pods web owner="the web team"
    masthead annotate pods --all owner-
    masthead annotate -f web.yaml owner=ops --overwrite
    masthead annotate node/node-1 --list
    """
    # The same command as label but for the word.
    return run_change(state, "annotation", arguments)
