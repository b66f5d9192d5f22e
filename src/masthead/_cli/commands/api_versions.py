"""``masthead api-versions``: the API versions that the server serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.discovery_failures import without_failures
from masthead._cli.failures import ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import write

if TYPE_CHECKING:
    from masthead._cli.shared_options import State

__all__ = ["command"]


@cluster_command("api-versions")
@click.pass_obj
def command(state: State) -> int:
    """Print the API versions that the server serves, one per line, as manifests name them: apps/v1, v1.

    \b
    masthead api-versions | grep networking
    """
    with state.connect() as client:
        found = without_failures(client.discovery.refresh())
    served = sorted(
        f"{group.name}/{version}" if group.name else version for group in found.groups for version in group.versions
    )
    write("".join(f"{api_version}\n" for api_version in served))
    return ExitCode.OK
