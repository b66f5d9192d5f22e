"""A pod in the foreground: its streams are attached, and its exit code is that of the command."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Final, TypedDict

from masthead._cli.failures import CommandError, ExitCode, explain
from masthead._cli.terminal import say, write, write_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._meta.plain import Plain
    from masthead.api.core.v1 import Pod
    from masthead.clientset.core_v1 import Pods

__all__ = ["AttachArguments", "delete_quietly", "stay_attached"]

_RUNNING_TIMEOUT: Final = 60.0


class AttachArguments(TypedDict):
    """Whether and how the streams of the container are attached."""

    stdin: bool
    tty: bool
    attach: bool | None
    leave_stdin_open: bool
    removes: bool
    quiet: bool
    running_timeout: float | None
    restart: str


def stay_attached(client: masthead.Client, pod: Plain, arguments: AttachArguments) -> int:
    """Attach to a pod that was created, and return its exit code; 0 if it is to run for ever.

    Raises:
        CommandError: If it does not run in time, or fails without an exit code.
        MastheadError: As any call.
    """
    from masthead._client import conditions

    name = pod["metadata"]["name"]
    pods = client.core_v1.pods(pod["metadata"]["namespace"])
    given = arguments["running_timeout"]
    timeout = _RUNNING_TIMEOUT if given is None else math.inf if given <= 0 else given
    # A short command may have ended before it is seen to run.
    started = pods.wait_for(name, conditions.pod_running() | conditions.pod_finished(), timeout=timeout)
    if started.status.phase == "Running":
        _attach(pods, name, started, arguments)
    else:
        _print_log(pods, name, started)
    # Without an end, there is no exit code to wait for.
    if arguments["leave_stdin_open"] or started.spec.restart_policy == "Always":
        return ExitCode.OK
    return _exit_code(pods.wait_for(name, conditions.pod_finished(), timeout=timeout))


def _attach(pods: Pods[Pod], name: str, pod: Pod, arguments: AttachArguments) -> None:
    from masthead.errors import MastheadError

    # What it has printed before a client attaches is in its log only.
    printed = _print_log(pods, name, pod)
    try:
        _relay(pods, name, pod, arguments)
    # It may have ended in between.
    except MastheadError as error:
        say(f"warning: couldn't attach to pod/{name}, falling back to its log: {explain(error).line}")
        _print_log(pods, name, pod, printed)


def _relay(pods: Pods[Pod], name: str, pod: Pod, arguments: AttachArguments) -> None:
    from masthead._cli.attaching import PROMPT
    from masthead._cli.relaying import relay

    container = pod.spec.containers[0].name
    # A shell has written its prompt before the terminal was attached.
    if arguments["tty"]:
        if not arguments["quiet"]:
            say(PROMPT)
        pods.attach_interactive(name, container=container)
        return
    with pods.attach(name, container=container, stdin=arguments["stdin"]) as process:
        relay(process, is_fed=arguments["stdin"])


def _print_log(pods: Pods[Pod], name: str, pod: Pod, printed: str = "") -> str:
    """Print the log beyond the part printed before, and return all of it."""
    log = pods.logs(name, container=pod.spec.containers[0].name).read()
    write_data(log.removeprefix(printed))
    # Attached streams are bytes, which overtake text.
    sys.stdout.flush()
    return log


def _exit_code(pod: Pod) -> int:
    if pod.status.phase == "Succeeded":
        return ExitCode.OK
    state = next((status.state for status in pod.status.container_statuses or ()), None)
    ended = state.terminated if state is not None else None
    if ended is None or not ended.exit_code:
        raise CommandError(f"pod {pod.metadata.name} has failed with an unknown exit code")
    say(f"pod {pod.metadata.namespace}/{pod.metadata.name} terminated ({ended.reason or 'Error'})")
    return ended.exit_code


def delete_quietly(client: masthead.Client, objects: Sequence[Plain], *, quiet: bool) -> None:
    """Delete the created objects that still exist.

    Args:
        client: The client.
        objects: The objects.
        quiet: Whether nothing is said about it.
    """
    from masthead._cli.subjects import resource_of
    from masthead.errors import NotFoundError

    for obj in objects:
        metadata = obj["metadata"]
        try:
            # Not a successor of the same name.
            resource_of(client, obj).delete(metadata["name"], uid=metadata["uid"])
        except NotFoundError:
            continue
        if not quiet:
            write(f'{obj["kind"].lower()} "{metadata["name"]}" deleted from {metadata["namespace"]} namespace\n')
