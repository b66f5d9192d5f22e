"""``masthead cp``: files into and out of containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.sizes import human_size
from masthead._cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cli.progress import Work
    from masthead._cli.shared_options import State
    from masthead._client.cp.progress import CopyProgress

__all__ = ["command"]


@dataclass(frozen=True, slots=True)
class _Place:
    """A path, here or in a pod."""

    path: str
    pod: str = ""
    namespace: str = ""


@cluster_command("cp")
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
@click.option("-c", "--container", metavar="NAME", help="of this container")
@click.option("--no-preserve", is_flag=True, help="do not keep permissions and times")
@click.pass_obj
def command(state: State, source: str, target: str, container: str | None, no_preserve: bool) -> None:
    """Copy files and directories into a container, or out of it, as cp -r does.

    \b
    masthead cp site web:/usr/share/nginx/html
    masthead cp shop/web:/var/log/nginx .

    One of both is POD:PATH or NAMESPACE/POD:PATH; a local path with a colon begins with ./ or /.
    """
    from masthead._cli.pods import one_pod, refuse_missing
    from masthead._cli.progress import Work
    from masthead.errors import NotFoundError

    here, there = _place(source), _place(target)
    if bool(here.pod) == bool(there.pod):
        raise CommandError("either the source or the target is POD:PATH", code=ExitCode.USAGE)
    remote, local = (here, there) if here.pod else (there, here)
    state.namespace = remote.namespace or state.namespace  # hints name it as well
    with state.connect() as client:
        pod = one_pod(client, state, remote.pod)
        pods = client.core_v1.pods(pod.namespace)
        try:
            with Work("copying", no_color=state.no_color) as work:
                copy = pods.copy_from if here.pod else pods.copy_to
                first, second = (remote, local) if here.pod else (local, remote)
                copy(
                    remote.pod,
                    first.path,
                    second.path,
                    container=container,
                    preserve=not no_preserve,
                    progress=_shown_by(work),
                )
        except NotFoundError:
            refuse_missing(client, pod)
            raise
    say(f"copied {source} to {target}")


def _place(text: str) -> _Place:
    """Read an argument. Paths with a colon are in a pod, unless they begin like a local one."""
    pod, colon, path = text.partition(":")
    # As in scp, "./a:b" and "/a:b" are local.
    if not colon or text.startswith((".", "/")):
        return _Place(text)
    namespace, slash, name = pod.rpartition("/")
    if not name or not path or (slash and not namespace) or "/" in namespace:
        raise CommandError(f"{text!r} is not [NAMESPACE/]POD:PATH", code=ExitCode.USAGE)
    return _Place(path, name, namespace)


def _shown_by(work: Work) -> Callable[[CopyProgress], object]:
    def show(progress: CopyProgress) -> None:
        total = f" of {human_size(progress.bytes_total)}" if progress.bytes_total else ""
        work.detail(f"{human_size(progress.bytes_done)}{total}  {progress.path}")

    return show
