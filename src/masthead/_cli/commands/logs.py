"""``masthead logs``: the logs of one or many pods."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from masthead._cli.completion import complete_pods
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.terminal import has_color, say, write_data

if TYPE_CHECKING:
    import masthead
    from masthead._cli.log_output import LogFormat
    from masthead._cli.pods import PodSource
    from masthead._cli.shared_options import State
    from masthead.errors import LogStreamError

__all__ = ["command"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the options ask for."""

    container: str | None
    all_containers: bool
    follow: bool
    previous: bool
    since_seconds: int | None
    tail_lines: int | None

    @property
    def shared(self) -> dict[str, Any]:
        """The arguments of one log and of many."""
        return {
            "follow": self.follow,
            "previous": self.previous,
            "since_seconds": self.since_seconds,
            "tail_lines": self.tail_lines,
        }


@cluster_command("logs", all_namespaces=True)
@click.argument("pod", required=False, metavar="[POD | KIND/NAME]", shell_complete=complete_pods)
@click.option("-l", "--selector", metavar="SELECTOR", help="of all pods with these labels")
@click.option("-f", "--follow", is_flag=True, help="go on as lines are written, across restarts and lost connections")
@click.option("-c", "--container", metavar="NAME", help="of this container")
@click.option("--all-containers", is_flag=True, help="of all containers of the pod, init containers included")
@click.option("--since", metavar="DURATION", callback=to_seconds, help="lines of this last while, such as 5m")
@click.option("--tail", type=click.IntRange(min=0), metavar="LINES", help="begin with the last so many lines")
@click.option("-p", "--previous", is_flag=True, help="of the previous instance of the container")
@click.option("--prefix/--no-prefix", default=None, help="pod and container before each line (if there are many pods)")
@click.option("--timestamps", is_flag=True, help="with the time of each line")
@click.pass_obj
def command(
    state: State,
    pod: str | None,
    selector: str | None,
    follow: bool,
    container: str | None,
    all_containers: bool,
    since: float | None,
    tail: int | None,
    previous: bool,
    prefix: bool | None,
    timestamps: bool,
) -> None:
    """Print the logs of a pod, of the pods of a workload, or of all pods with some labels.

    With -f, pods join as they start and leave as they end.

    \b
    masthead logs web-1 --tail 20
    masthead logs deploy/web -f
    masthead logs -l app=web -A -f --since 5m
    """
    from masthead._cli.client_warnings import telling_warnings
    from masthead._cli.log_output import LogFormat
    from masthead._cli.pods import PodSource, find_pods

    # Without both there is no target; with both, two different ones.
    if bool(pod) == bool(selector):
        raise CommandError("name a pod, a workload, or a selector with -l", code=ExitCode.USAGE)
    # The server's `sinceSeconds` is a whole number above zero.
    if since is not None and since < 1:
        raise CommandError("--since has to be a second at least", code=ExitCode.USAGE)
    asked = _Asked(container, all_containers, follow, previous, None if since is None else int(since), tail)
    with state.connect() as client:
        source = PodSource(selector=selector) if selector else find_pods(client, state, pod or "")
        is_one = bool(source.name) and not all_containers
        form = LogFormat(
            prefix=not is_one if prefix is None else prefix,
            namespaces=state.all_namespaces,
            timestamps=timestamps,
            color=has_color(no_color=state.no_color),
            is_terminal=sys.stdout.isatty(),
        )
        namespace = None if state.all_namespaces else client.namespace
        with telling_warnings(_warn):
            if is_one:
                _print_one(client, source.name, asked, form)
            else:
                _print_many(client, namespace, source, asked, form)


def _warn(text: str) -> None:
    say(f"masthead logs: {text}")


def _print_one(client: masthead.Client, name: str, asked: _Asked, form: LogFormat) -> None:
    """Print the log of one container, to its end."""
    from masthead._cli.pods import refuse_missing
    from masthead._cli.references import Selected
    from masthead._client.log_line import LogLine
    from masthead.errors import NotFoundError

    stream = client.core_v1.pods(client.namespace).logs(
        name, container=asked.container, restarts=asked.follow, timestamps=form.timestamps, **asked.shared
    )
    try:
        with stream as lines:
            for text in lines:
                # The server puts the time before each line; LogLine keeps the two apart.
                time, _, rest = text.partition(" ") if form.timestamps else ("", "", text)
                line = LogLine(client.namespace, name, asked.container or "", rest, time)
                _put(form.format(line), is_followed=asked.follow)
    except NotFoundError:
        # A mistyped pod gets the nearest names; a missing container keeps the server's message.
        refuse_missing(client, Selected(client.mapper.find("pods"), (name,), client.namespace))
        raise


def _print_many(
    client: masthead.Client, namespace: str | None, source: PodSource, asked: _Asked, form: LogFormat
) -> None:
    """Print the logs of many containers, line by line as they come."""

    def report(error: LogStreamError) -> None:
        _warn(str(error))

    merged = client.core_v1.pods(namespace).merged_logs(
        label_selector=source.selector or None,
        field_selector=f"metadata.name={source.name}" if source.name else None,
        containers=asked.container,
        init_containers=asked.all_containers,
        ephemeral_containers=asked.all_containers,
        on_error=report,
        **asked.shared,
    )
    count = 0
    with merged as lines:
        for count, line in enumerate(lines, 1):  # noqa: B007 - used behind the loop
            _put(form.format(line), is_followed=asked.follow)
    if not count:
        say("no lines were found")


def _put(text: str, *, is_followed: bool) -> None:
    write_data(text)
    # Followed lines are few, and a reader of the pipe waits for them; a whole log is written in blocks.
    if is_followed:
        sys.stdout.flush()
