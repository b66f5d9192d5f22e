"""``masthead create token``: a token of a service account."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_service_accounts
from masthead._cli.creating import refuse
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.subjects import ResultPrinter, output_option
from masthead._cli.terminal import write_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["token"]

_KINDS: Final = ("Node", "Pod", "Secret")


@cluster_command("token")
@click.argument("account", shell_complete=complete_service_accounts)
@click.option(
    "--duration", metavar="DURATION", callback=to_seconds, help="how long it is valid (as the server decides)"
)
@click.option(
    "--audience",
    "audiences",
    multiple=True,
    metavar="URL",
    help="who accepts it; the API server if left out (can be repeated)",
)
@click.option(
    "--bound-object-kind",
    "bound_kind",
    type=click.Choice(_KINDS),
    help="invalidate it when an object of this kind is deleted",
)
@click.option("--bound-object-name", "bound_name", default="", metavar="NAME", help="the name of that object")
@click.option("--bound-object-uid", "bound_uid", default="", metavar="UID", help="its UID (that of the object now)")
@output_option
@click.pass_obj
def token(
    state: State,
    account: str,
    duration: float | None,
    audiences: tuple[str, ...],
    bound_kind: str | None,
    bound_name: str,
    bound_uid: str,
    output: str | None,
) -> int:
    """Request a token of a service account, and print it.

    \b
    masthead create token operator --duration=10m
    masthead create token operator --bound-object-kind=Pod --bound-object-name=web
    """
    request = _make_request(duration, audiences, bound_kind, bound_name, bound_uid)
    printer = ResultPrinter(output, keeps_order=True)
    with state.connect() as client:
        accounts = client.dynamic("v1", "ServiceAccount", namespace=client.namespace)
        answer = accounts.create(request, name=account, subresource="token").to_dict()
    value = answer.get("status", {}).get("token", "")
    # An API server between, such as a proxy, may have left it out.
    if not value:
        raise CommandError("the server's answer has no token")
    if output:
        printer.print(answer, "created")
    else:
        # Scripts that read it want no line feed.
        write_data(f"{value}\n" if sys.stdout.isatty() else value)
    return ExitCode.OK


def _make_request(
    duration: float | None, audiences: Sequence[str], bound_kind: str | None, bound_name: str, bound_uid: str
) -> Plain:
    if duration is not None and (duration < 0 or duration != int(duration)):
        raise refuse("--duration is a number of whole seconds")
    if not all(audiences):
        raise refuse("--audience is empty")
    if (bound_name or bound_uid) and not bound_kind:
        raise refuse("--bound-object-name and --bound-object-uid need --bound-object-kind")
    if bound_kind and not bound_name:
        raise refuse("--bound-object-kind needs --bound-object-name")
    spec: Plain = {"audiences": list(audiences) or None, "expirationSeconds": int(duration) if duration else None}
    if bound_kind:
        spec["boundObjectRef"] = {
            "kind": bound_kind,
            "apiVersion": "v1",
            "name": bound_name,
            **({"uid": bound_uid} if bound_uid else {}),
        }
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "spec": {field: value for field, value in spec.items() if value is not None},
    }
