"""The session in a debugging container: it waits until the container runs, and attaches to it."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Final

from masthead._cli.attaching import attach_to, choose_container
from masthead._cli.failures import CommandError, ExitCode, explain
from masthead._cli.terminal import say, write_data
from masthead._meta.plain import entries, part, text

if TYPE_CHECKING:
    import masthead
    from masthead._cli.attaching import AttachOptions
    from masthead._meta.plain import Plain
    from masthead.api.core.v1 import Pod

__all__ = ["attach_to_debugger", "container_state"]

_STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def container_state(pod: Plain, name: str) -> Plain:
    """The state of a container: ``{"running": {}}``; empty if it has none yet. Pure."""
    for status in (status for key in _STATUSES for status in entries(part(pod, "status"), key)):
        if text(status, "name") == name:
            return part(status, "state")
    return {}


def attach_to_debugger(
    client: masthead.Client, namespace: str, name: str, container: str, options: AttachOptions
) -> int:
    """Wait until a container runs, and attach to it; print its log if it has ended, and return its exit code.

    Args:
        client: The client.
        namespace: The namespace of the pod.
        name: The name of the pod.
        container: The container.
        options: How to attach.

    Raises:
        CommandError: If the pod is deleted.
        OSError: If a standard stream cannot be read or written any more.
        MastheadError: As any call.
    """
    from masthead.errors import MastheadError

    pod = _wait_for_container(client, namespace, name, container, quiet=options.quiet)
    if "terminated" not in container_state(pod, container):
        try:
            return attach_to(client, pod, choose_container(pod, container, quiet=True), options)
        except MastheadError as error:
            problem = explain(error).line
            say(f"warning: couldn't attach to pod/{name}, falling back to streaming logs: {problem}")
    # Nothing is lost: the log begins with the container.
    write_data(client.core_v1.pods(namespace).logs(name, container=container).read())
    sys.stdout.flush()
    return ExitCode.OK


def _wait_for_container(client: masthead.Client, namespace: str, name: str, container: str, *, quiet: bool) -> Plain:
    from masthead._client.conditions import WaitCondition

    said: set[str] = set()

    def has_begun(pod: Pod | None) -> bool:
        # Nothing would ever run in it.
        if pod is None:
            raise CommandError(f'pods "{name}" not found: it was deleted', code=ExitCode.NOT_FOUND)
        state = container_state(pod.to_dict(), container)
        message = text(part(state, "waiting"), "message")
        # Each event of the pod repeats it.
        if message and message not in said and not quiet:
            said.add(message)
            say(f"Warning: container {container}: {message}")
        return "running" in state or "terminated" in state

    condition: WaitCondition[Pod] = WaitCondition(has_begun, f"the container {container} runs")
    # As in kubectl, an image may take any time to be pulled; Ctrl-C ends the wait.
    found = client.core_v1.pods(namespace).wait_for(name, condition, timeout=math.inf)
    assert found is not None
    return found.to_dict()
