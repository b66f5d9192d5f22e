"""Objects and tables from the server: what ``get`` shows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.references import missing
from masthead.errors import MastheadError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._cli.references import Selected
    from masthead._client.tables import TablePage
    from masthead._meta.plain import Plain
    from masthead._printers.table import PrintedTable

__all__ = ["Fetched", "ObjectSelection", "fetch_objects", "fetch_table"]


@dataclass(frozen=True, slots=True)
class ObjectSelection:
    """Which objects of a resource are selected.

    Attributes:
        labels: The label selector; None for all.
        fields: The field selector; None for all.
        page_size: The limit of each page of a list; None for the client's default, 0 for one page.
        subresource: The subresource that is fetched of named objects; empty for the objects themselves.
    """

    labels: str | None = None
    fields: str | None = None
    page_size: int | None = None
    subresource: str = ""


_ALL: Final = ObjectSelection()
_PAGE_SIZE: Final = 500


@dataclass(slots=True)
class Fetched:
    """The fetched objects of one resource, and the missing names.

    Attributes:
        selected: The resource.
        table: The table; None if objects were requested.
        objects: The objects; empty if a table was requested.
        errors: An error for each name that does not exist.
    """

    selected: Selected
    table: PrintedTable | None = None
    objects: list[Plain] = field(default_factory=list["Plain"])
    errors: list[CommandError] = field(default_factory=list["CommandError"])


def fetch_table(
    client: masthead.Client,
    selected: Selected,
    *,
    selection: ObjectSelection = _ALL,
    with_objects: bool = False,
) -> Fetched:
    """Fetch a table, as the server prints it.

    Args:
        client: The client.
        selected: The resource, and names if only some objects are meant.
        selection: The selectors and pages, which are for lists only; or the subresource, which is for names only.
        with_objects: Whether the rows have whole objects.

    Raises:
        MastheadError: As any call; a name that does not exist is among the errors of the result instead.
    """
    found = Fetched(selected)
    if not selected.names:
        found.table = _list_table(client, selected, selection, with_objects=with_objects)
        return found
    # One request per name: a field selector has no "or".
    for name in selected.names:
        try:
            one = _row(client, selected, name, selection.subresource, with_objects=with_objects)
        except NotFoundError:
            # The other names are still fetched and printed, as kubectl does.
            found.errors.append(_missing(client, selected, name, selection.subresource))
            continue
        before = found.table
        found.table = one if before is None else replace(before, rows=(*before.rows, *one.rows))
    return found


# Not `client.dynamic(...).table()`: importing all that a dynamic resource can do would take as long as the rest.
def _list_table(
    client: masthead.Client, selected: Selected, selection: ObjectSelection, *, with_objects: bool
) -> PrintedTable:
    """The table of a list, fetched in pages."""
    from masthead.errors import ExpiredError

    limit = _PAGE_SIZE if selection.page_size is None else selection.page_size
    try:
        page = _fetch_pages(client, selected, selection, limit, with_objects=with_objects)
    except ExpiredError:
        # The version of the first page has expired: a list without a limit has no second page.
        page = _fetch_pages(client, selected, selection, 0, with_objects=with_objects)
    # Only a list of all namespaces needs the column; a cluster-scoped kind has none.
    return page.table(wide=False, namespaces=selected.resource.namespaced and selected.namespace is None)


def _fetch_pages(
    client: masthead.Client, selected: Selected, selection: ObjectSelection, limit: int, *, with_objects: bool
) -> TablePage:
    from masthead._client.pagination import ListQuery
    from masthead._client.resource_target import untyped_target
    from masthead._client.tables import ACCEPT_TABLE, read_page

    target = untyped_target(selected.resource.gvr, namespaced=selected.resource.namespaced)
    included = {"includeObject": "Object" if with_objects else "Metadata"}
    asked = ListQuery(label_selector=selection.labels, field_selector=selection.fields, limit=limit or None)
    joined: TablePage | None = None
    while True:
        response = client.rest.get(_path(selected), accept=ACCEPT_TABLE, query={**dict(asked.params()), **included})
        page = read_page(response.body, target, has_objects=with_objects)
        # Columns are those of the first page; later ones repeat them.
        if joined is None:
            joined = page
        else:
            joined.items += page.items
        if not page.metadata.continue_:
            return joined
        asked = replace(asked, continue_=page.metadata.continue_)


def _row(
    client: masthead.Client, selected: Selected, name: str, subresource: str, *, with_objects: bool
) -> PrintedTable:
    """The table of one object."""
    from masthead._client.resource_target import untyped_target
    from masthead._client.tables import ACCEPT_TABLE, read_page

    target = untyped_target(selected.resource.gvr, namespaced=selected.resource.namespaced)
    response = client.rest.get(
        _path(selected, name, subresource),
        accept=ACCEPT_TABLE,
        query={"includeObject": "Object" if with_objects else "Metadata"},
    )
    return read_page(response.body, target, has_objects=with_objects).table(wide=False, namespaces=False)


def _missing(client: masthead.Client, selected: Selected, name: str, subresource: str) -> CommandError:
    """The error for an object that does not exist, or for its subresource."""
    if subresource:
        try:
            client.metadata(selected.resource.gvr, namespace=selected.namespace).get(name)
            line = f"{selected.resource.name} have no subresource {subresource}"
            return CommandError(line, hint="for example status, or scale of workloads", code=ExitCode.NOT_FOUND)
        # The object itself is missing, or cannot be read.
        except MastheadError:
            pass
    return missing(client, selected, name)


def _path(selected: Selected, name: str = "", subresource: str = "") -> str:
    gvr = selected.resource.gvr
    root = f"/apis/{gvr.group}" if gvr.group else "/api"
    # Names come from the user, and could otherwise add segments to the path.
    place = f"/namespaces/{quote(selected.namespace, safe='')}" if selected.namespace else ""
    below = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
    return f"{root}/{gvr.version}{place}/{gvr.resource}{below}"


def fetch_objects(
    client: masthead.Client,
    selected: Selected,
    *,
    selection: ObjectSelection = _ALL,
    show_managed_fields: bool = False,
) -> Fetched:
    """Fetch whole objects, as plain data.

    Args:
        client: The client.
        selected: The resource, and names if only some objects are meant.
        selection: The selectors and pages, which are for lists only; or the subresource, which is for names only.
        show_managed_fields: Whether ``metadata.managedFields`` are included.

    Raises:
        MastheadError: As any call; a name that does not exist is among the errors of the result instead.
    """
    found = Fetched(selected)
    resource = client.dynamic(selected.resource.gvr, namespace=selected.namespace)
    if selected.names:
        for name in selected.names:
            try:
                found.objects.append(resource.get(name, subresource=selection.subresource).to_dict())
            except NotFoundError:
                found.errors.append(_missing(client, selected, name, selection.subresource))
    else:
        listed = resource.list(
            label_selector=selection.labels, field_selector=selection.fields, page_size=selection.page_size
        )
        found.objects = [obj.to_dict() for obj in listed]
    if not show_managed_fields:
        _hide_managed_fields(found.objects)
    return found


def _hide_managed_fields(objects: Sequence[Plain]) -> None:
    for obj in objects:
        obj.get("metadata", {}).pop("managedFields", None)
