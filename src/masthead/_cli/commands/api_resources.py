"""``masthead api-resources``: the resources that the server serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from masthead._cli.discovery_failures import raise_discovery_failures, without_failures
from masthead._cli.failures import ExitCode
from masthead._cli.framework import cluster_command, switch_option
from masthead._cli.terminal import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from masthead._cli.shared_options import State
    from masthead._discovery.model import ServedResource
    from masthead._meta.plain import Plain

__all__ = ["command", "resource_entry", "select", "table_lines"]

_HEADINGS: Final = ("NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND")
_MORE_HEADINGS: Final = ("VERBS", "CATEGORIES")
_SORT_KEYS: Final[dict[str, Callable[[ServedResource], tuple[str, str]]]] = {
    "group": lambda resource: (resource.gvr.group, resource.name),
    "name": lambda resource: (resource.name, ""),
    "kind": lambda resource: (resource.kind, resource.name),
}


@cluster_command("api-resources")
@click.option("-o", "--output", type=click.Choice(("wide", "name", "json", "yaml")), help="another form than the table")
@click.option("--api-group", metavar="GROUP", help='only those of this group; "" for the core group')
@switch_option("--namespaced", help_="only those in namespaces, or only the others")
@click.option("--verbs", multiple=True, metavar="VERB,...", help="only those with all of these verbs")
@click.option("--categories", multiple=True, metavar="NAME,...", help="only those in all of these categories")
@click.option("--sort-by", type=click.Choice(("name", "kind")), help="the order, otherwise by group")
@click.option("--no-headers", is_flag=True, help="no heading")
@click.option("--cached", is_flag=True, help="do not ask the server if an answer is cached")
@click.pass_obj
def command(
    state: State,
    output: str | None,
    api_group: str | None,
    namespaced: bool | None,
    verbs: tuple[str, ...],
    categories: tuple[str, ...],
    sort_by: str | None,
    no_headers: bool,
    cached: bool,
) -> int:
    """Print the resources that the server serves, each in its preferred version.

    If some group cannot be discovered, the others are printed, then the error.

    \b
    masthead api-resources -o wide
    masthead api-resources --verbs=list,delete --namespaced -o name
    masthead api-resources --api-group=apps --sort-by=kind
    """
    with state.connect() as client:
        found = client.discovery.resources() if cached else client.discovery.refresh()
    shown = select(
        without_failures(found).preferred(),
        api_group=api_group,
        namespaced=namespaced,
        verbs=_split(verbs),
        categories=_split(categories),
    )
    shown.sort(key=_SORT_KEYS[sort_by or "group"])
    write(_render(shown, output or "table", headers=not no_headers))
    raise_discovery_failures(found)
    return ExitCode.OK


def _split(values: tuple[str, ...]) -> frozenset[str]:
    return frozenset(part for value in values for part in value.split(",") if part)


def select(
    resources: Iterable[ServedResource],
    *,
    api_group: str | None = None,
    namespaced: bool | None = None,
    verbs: frozenset[str] = frozenset(),
    categories: frozenset[str] = frozenset(),
) -> list[ServedResource]:
    """Return the resources that fit all options; those without verbs never do, as in kubectl."""
    return [
        resource
        for resource in resources
        if resource.verbs
        and (api_group is None or resource.gvr.group == api_group)
        and (namespaced is None or resource.namespaced == namespaced)
        and verbs.issubset(resource.verbs)
        and categories.issubset(resource.categories)
    ]


def _render(resources: Sequence[ServedResource], form: str, *, headers: bool) -> str:
    if form == "name":
        return "".join(f"{resource.gvr.group_resource}\n" for resource in resources)
    if form in {"json", "yaml"}:
        from masthead._cli.outputs import parse_output

        return parse_output(form).render(
            {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": "",
                "resources": [resource_entry(resource) for resource in resources] or None,
            }
        )
    from masthead._printers.layout import lay_out

    lines = table_lines(resources, wide=form == "wide", headers=headers)
    return f"{lay_out(lines)}\n" if lines else ""


def table_lines(resources: Sequence[ServedResource], *, wide: bool, headers: bool) -> list[tuple[str, ...]]:
    """Return the cells of the table, line by line."""
    lines: list[tuple[str, ...]] = []
    if headers:
        lines.append(_HEADINGS + (_MORE_HEADINGS if wide else ()))
    for resource in resources:
        cells = (
            resource.name,
            ",".join(resource.short_names),
            resource.api_version,
            str(resource.namespaced).lower(),
            resource.kind,
        )
        more = (",".join(resource.verbs), ",".join(resource.categories))
        lines.append(cells + (more if wide else ()))
    return lines


def resource_entry(resource: ServedResource) -> Plain:
    """Return a resource as an APIResource; empty lists and groups are left out."""
    optional: Plain = {
        "group": resource.gvr.group,
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
    }
    return {
        "name": resource.name,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "version": resource.gvr.version,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **{key: value for key, value in optional.items() if value},
    }
