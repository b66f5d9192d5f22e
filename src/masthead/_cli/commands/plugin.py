"""``masthead plugin``: the plugins of kubectl, which are those of masthead, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.command_groups import command_group
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import say, write

if TYPE_CHECKING:
    from masthead._cli.plugins import FoundPlugin

__all__ = ["command"]


@cluster_command("list")
@click.option("--name-only", is_flag=True, help="names, without folders")
def _list(name_only: bool) -> int:
    """List the plugins on the path.

    \b
    masthead plugin list
    masthead plugin list --name-only
    """
    from masthead._cli.plugins import list_plugins

    count = warnings = 0
    for found in list_plugins():
        if isinstance(found, OSError):
            say(f'Unable to read directory "{found.filename}" from your PATH: {found.strerror}. Skipping...')
            continue
        # A heading without plugins would look like a list that is cut off.
        if not count:
            write("The following compatible plugins are available:\n\n")
        count += 1
        write(f"{found.path.name if name_only else found.path}\n")
        for warning in _warnings(found):
            warnings += 1
            say(f"  - warning: {warning}")
    if not count:
        raise CommandError(
            "unable to find any kubectl plugins in your PATH", hint="a plugin is a program called kubectl-NAME"
        )
    if warnings:
        raise CommandError(
            "one plugin warning was found" if warnings == 1 else f"{warnings} plugin warnings were found"
        )
    return ExitCode.OK


def _warnings(plugin: FoundPlugin) -> list[str]:
    from masthead._cli.catalog import CATALOG

    found: list[str] = []
    if not plugin.is_executable:
        found.append(f"{plugin.path} identified as a kubectl plugin, but it is not executable")
    if plugin.shadowed_by is not None:
        found.append(f"{plugin.path} is overshadowed by a similarly named plugin: {plugin.shadowed_by}")
    if plugin.command in CATALOG:
        found.append(f'{plugin.path.name} overwrites existing command: "masthead {plugin.command}"')
    return found


command = command_group(
    "plugin",
    [_list],
    help_="""List plugins: programs called kubectl-NAME on the path, which masthead NAME runs.

    Commands of masthead win over plugins of the same name. masthead foo bar runs kubectl-foo-bar or else kubectl-foo; a
    dash within a word is an underscore in the name of the program.
    """,
)
