"""``masthead port-forward``: local ports that lead to a pod."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from masthead._cli.completion import complete_pods
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import say, write

if TYPE_CHECKING:
    from masthead._cli.shared_options import State

__all__ = ["command"]


@cluster_command("port-forward")
@click.argument("target", metavar="POD | KIND/NAME", shell_complete=complete_pods)
@click.argument("ports", nargs=-1, required=True, metavar="[LOCAL:]PORT...")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    metavar="ADDRESS",
    help="the local address to listen on (localhost)",
)
@click.option("--reconnect", is_flag=True, help="go on with another pod when this one is gone")
@click.pass_obj
def command(state: State, target: str, ports: tuple[str, ...], addresses: tuple[str, ...], reconnect: bool) -> None:
    """Forward local ports to a pod, or to a pod of a service or workload, until Ctrl-C.

    \b
    masthead port-forward web 8080
    masthead port-forward svc/web 8888:http :9090
    """
    from masthead._cli.pods import find_target, refuse_missing
    from masthead.errors import NotFoundError

    with state.connect() as client:
        found = find_target(client, state, target)
        kind = found.resource
        resource = client.dynamic(kind.api_version, kind.name, namespace=found.namespace)
        forward = resource.port_forward(found.names[0], *ports, address=addresses or "localhost", reconnect=reconnect)
        try:
            forward.open()
        except NotFoundError:
            refuse_missing(client, found)
            raise
        try:
            for port in forward.ports:
                for address in forward.addresses:
                    host = f"[{address}]" if ":" in address else address
                    write(f"{host}:{port.local} -> {forward.pod}:{port.remote}\n")
            say("forwarding; Ctrl-C ends")
            printer = _Printer()
            if not state.debug:  # with which the logs say it
                logging.getLogger("masthead.portforward.connections").addHandler(printer)
            forward.wait()
            if printer.failure is not None:
                raise printer.failure
        finally:
            forward.close()


class _Printer(logging.Handler):
    """Prints why a connection has failed; if that cannot be written, the port-forward ends."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: OSError | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            say(record.getMessage())
        except OSError as error:
            self.failure = error
            raise  # out of the task that serves the connection, which ends all of them
