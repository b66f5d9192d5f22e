"""The objects that ``delete`` and ``wait`` are about, as far as the server has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.references import missing, parse_references, resolve
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._cli.references import Selected
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["identity", "objects_of"]


def objects_of(
    client: masthead.Client,
    state: State,
    arguments: Sequence[str],
    *,
    selector: str | None,
    is_all: bool,
    must_exist: bool,
) -> list[Plain]:
    """Return the identity of each object: apiVersion, kind, name, namespace; and its uid, if it was looked up.

    Args:
        client: The client.
        state: The shared options.
        arguments: The kinds and names.
        selector: Only objects with these labels.
        is_all: Whether all objects of a kind are meant.
        must_exist: Whether named objects are looked up.

    Raises:
        CommandError: If the arguments are ambiguous, or a named object does not exist.
        MastheadError: As any call.
    """
    found: list[Plain] = []
    for selected in resolve(client, state, parse_references(arguments)):
        if selected.names and (selector or is_all):
            raise CommandError("names exclude a selector and --all", code=ExitCode.USAGE)
        if selected.names:
            found += [_one(client, selected, name, must_exist=must_exist) for name in selected.names]
        elif selector or is_all:
            found += _list_identities(client, selected, selector)
        else:
            raise CommandError(
                f"which {selected.resource.name}?",
                hint="name them, or select them with -l, or take --all",
                code=ExitCode.USAGE,
            )
    return found


def _one(client: masthead.Client, selected: Selected, name: str, *, must_exist: bool) -> Plain:
    if not must_exist:
        return identity(selected, name, selected.namespace or "")
    try:
        obj = client.metadata(selected.resource.gvr, namespace=selected.namespace).get(name)
    except NotFoundError:
        raise missing(client, selected, name) from None
    return identity(selected, name, obj.metadata.namespace, obj.metadata.uid)


def _list_identities(client: masthead.Client, selected: Selected, selector: str | None) -> list[Plain]:
    resource = client.metadata(selected.resource.gvr, namespace=selected.namespace)
    return [
        identity(selected, obj.metadata.name, obj.metadata.namespace, obj.metadata.uid)
        for obj in resource.list(label_selector=selector)
    ]


def identity(selected: Selected, name: str, namespace: str, uid: str = "") -> Plain:
    """What identifies an object, as plain data."""
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"uid": uid} if uid else {}),
    }
    gvk = selected.resource.gvk
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}
