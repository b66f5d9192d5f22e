"""``masthead config set`` and ``unset``: one value of a kubeconfig."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, switch_option
from masthead._cli.kubeconfig_properties import (
    CURRENT_CONTEXT,
    parse_property,
    parse_value,
    remove_value,
    set_value,
)
from masthead._cli.kubeconfigs import KubeconfigFiles, change_entry, remove_entry
from masthead._cli.references import nearest
from masthead._cli.terminal import write

if TYPE_CHECKING:
    from masthead._cli.kubeconfig_properties import Property
    from masthead._cli.kubeconfigs import MergedKubeconfig
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["set_property", "unset_property"]


def _complete_properties(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    names = (CURRENT_CONTEXT, "clusters.", "contexts.", "users.")
    return [name for name in names if name.startswith(incomplete)]


@cluster_command("set")
@click.argument("property_name", shell_complete=_complete_properties)
@click.argument("value")
@switch_option("--set-raw-bytes", help_="VALUE is not base64 yet")
@click.pass_obj
def set_property(state: State, property_name: str, value: str, set_raw_bytes: bool | None) -> int:
    """Set a value. PROPERTY_NAME is current-context, or the path of a field.

    \b
    masthead config set current-context dev
    masthead config set contexts.dev.namespace shop
    masthead config set clusters.dev.certificate-authority-data $(base64 -w0 ca.crt)
    """
    if not value:
        raise CommandError(
            "you cannot use set to unset a property", hint="masthead config unset does", code=ExitCode.USAGE
        )
    named = parse_property(property_name)
    parsed = parse_value(named, value, is_raw=bool(set_raw_bytes))
    files = KubeconfigFiles.of(state.kubeconfig)
    merged = files.load()
    if named.section is None:
        files.set_current_context(value)
    else:
        found = merged.entries(named.section)
        path = found[named.name].path if named.name in found else files.default
        files.change(
            path, change_entry(named.section, named.name, lambda content: set_value(content, named.path, parsed))
        )
    write(f'Property "{property_name}" set.\n')
    return ExitCode.OK


@cluster_command("unset")
@click.argument("property_name", shell_complete=_complete_properties)
@click.pass_obj
def unset_property(state: State, property_name: str) -> int:
    """Remove a value, an entry, or all entries of a kind.

    \b
    masthead config unset current-context
    masthead config unset contexts.dev.namespace
    masthead config unset users.dev
    """
    named = parse_property(property_name)
    files = KubeconfigFiles.of(state.kubeconfig)
    merged = files.load()
    if named.section is None:
        _unset_current_context(files, merged)
    elif not named.name:
        _clear_section(files, merged, named)
    else:
        _unset_in_entry(files, merged, named)
    write(f'Property "{property_name}" unset.\n')
    return ExitCode.OK


def _unset_current_context(files: KubeconfigFiles, merged: MergedKubeconfig) -> None:
    def change(document: Plain) -> None:
        document[CURRENT_CONTEXT] = ""

    # Only in the first file that sets it, as in kubectl: that of the next file counts then.
    for path, document in merged.documents.items():
        if document.get(CURRENT_CONTEXT):
            files.change(path, change)
            return


def _clear_section(files: KubeconfigFiles, merged: MergedKubeconfig, named: Property) -> None:
    section = named.section
    assert section is not None

    def change(document: Plain) -> None:
        document[section] = None

    for path, document in merged.documents.items():
        if document.get(section):
            files.change(path, change)


def _unset_in_entry(files: KubeconfigFiles, merged: MergedKubeconfig, named: Property) -> None:
    assert named.section is not None
    found = merged.entries(named.section)
    if named.name not in found:
        # As in kubectl, so that scripts may remove an entry twice; for a field, the name is probably misspelt.
        if not named.path:
            return
        raise CommandError(
            f"there is no {named.name!r} in {named.section}",
            hint=nearest(named.name, list(found)),
            code=ExitCode.NOT_FOUND,
        )
    if named.path:
        edit = change_entry(named.section, named.name, lambda content: remove_value(content, named.path))
    else:
        edit = remove_entry(named.section, named.name)
    files.change(found[named.name].path, edit)
