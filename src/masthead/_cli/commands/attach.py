"""``masthead attach``: the main process of a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_pods
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds

if TYPE_CHECKING:
    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["command"]

_TIMEOUT: Final = 60.0
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@cluster_command("attach")
@click.argument("words", nargs=-1, metavar="POD | KIND/NAME", shell_complete=complete_pods)
@click.option("-c", "--container", metavar="NAME", help="to this container")
@click.option("-i", "--stdin", is_flag=True, help="pass the standard input on")
@click.option("-t", "--tty", is_flag=True, help="at a terminal, if the container has one; with -i")
@click.option("-q", "--quiet", is_flag=True, help="print the output of the process only")
@click.option(
    "--pod-running-timeout",
    "timeout",
    metavar="DURATION",
    callback=to_seconds,
    help="how long to wait until the pod runs (1m)",
)
@click.pass_obj
def command(
    state: State,
    words: tuple[str, ...],
    container: str | None,
    stdin: bool,
    tty: bool,
    quiet: bool,
    timeout: float | None,
) -> int:
    """Attach to the process that a container runs, and end with its exit code.

    What it printed before is not repeated; masthead logs prints it. Ctrl-C detaches, or is passed on with -it.

    \b
    masthead attach web
    masthead attach deploy/web -c main -it
    """
    from masthead._cli.attaching import AttachOptions, attach_to, choose_container

    if timeout is not None and timeout <= 0:
        raise CommandError("--pod-running-timeout is above zero", code=ExitCode.USAGE)
    # Before anything is sent.
    reference = _reference(words)
    with state.connect() as client:
        pod = _running_pod(client, state, reference, _TIMEOUT if timeout is None else timeout)
        chosen = choose_container(pod, container, quiet=quiet)
        return attach_to(client, pod, chosen, AttachOptions(stdin, tty, quiet))


def _reference(words: tuple[str, ...]) -> str:
    """The pod or workload: ``web``, ``deploy/web``, or, as in kubectl, ``deploy web``."""
    match words:
        case (one,):
            return one
        case (kind, name) if "/" not in kind and "/" not in name:
            return f"{kind}/{name}"
        case _:
            raise CommandError("name one pod, or a workload as KIND/NAME", code=ExitCode.USAGE)


def _running_pod(client: masthead.Client, state: State, reference: str, timeout: float) -> Plain:
    """The pod that a reference means, as soon as it runs.

    Raises:
        CommandError: If it does not exist, has ended, or does not run in time.
        MastheadError: As any call.
    """
    from masthead._cli.pods import wait_for_running_pod

    pod = wait_for_running_pod(client, state, reference, timeout)
    phase = pod["status"].get("phase")
    if phase in _ENDED:
        metadata = pod["metadata"]
        raise CommandError(
            f"cannot attach a container in a completed pod; current phase is {phase}",
            hint=f"masthead logs {metadata['name']} -n {metadata['namespace']} shows what it has printed",
        )
    return pod
