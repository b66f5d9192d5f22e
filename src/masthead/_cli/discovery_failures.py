"""The groups that discovery could not reach: missing from the output, and reported. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from masthead._cli.failures import CommandError, explain

if TYPE_CHECKING:
    from masthead._discovery.model import DiscoveryResult

__all__ = ["raise_discovery_failures", "without_failures"]


def without_failures(found: DiscoveryResult) -> DiscoveryResult:
    """Leave out what may be out of date, as kubectl does: a script may go on to use each printed resource."""
    groups = (
        replace(
            group,
            versions=tuple(
                version
                for version in group.versions
                if not any((failed.group, failed.version) == (group.name, version) for failed in found.failures)
            ),
        )
        for group in found.groups
    )
    resources = (resource for resource in found.resources if resource.gvr.group_version not in found.failures)
    return replace(found, groups=tuple(group for group in groups if group.versions), resources=tuple(resources))


def raise_discovery_failures(found: DiscoveryResult) -> None:
    """Report the groups that could not be discovered.

    Raises:
        CommandError: If there are any.
    """
    if found.failures:
        problems = sorted(f"{served}: {explain(error).line}" for served, error in found.failures.items())
        raise CommandError(
            f"unable to retrieve the complete list of server APIs: {', '.join(problems)}",
            hint="masthead get apiservices shows which backends are unavailable",
        )
