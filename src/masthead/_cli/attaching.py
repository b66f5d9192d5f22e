"""The terminal, or the pipes, of a user at the main process of a container that runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.relaying import relay
from masthead._cli.terminal import say, write
from masthead._client.remotecommand.containers import container_named, default_container
from masthead._meta.plain import entries, text

if TYPE_CHECKING:
    import masthead
    from masthead._meta.plain import Plain

__all__ = ["PROMPT", "AttachOptions", "attach_to", "choose_container"]

_RECORDED: Final = (
    "All commands and output from this session will be recorded in container logs, including credentials and sensitive "
    "information passed through the command prompt."
)
PROMPT: Final = "If you don't see a command prompt, try pressing enter."


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """How to attach.

    Attributes:
        stdin: Whether the process gets the standard input.
        tty: Whether a TTY is asked for.
        quiet: Whether only the output of the process is printed.
    """

    stdin: bool = False
    tty: bool = False
    quiet: bool = False


def choose_container(pod: Plain, name: str | None, *, quiet: bool) -> Plain:
    """Return the container of a name, or the default one, which is announced if there are several.

    Raises:
        CommandError: If the pod has no such container.
    """
    # Ephemeral containers may be named, and are never the default.
    containers: list[str] = [container["name"] for container in pod["spec"]["containers"]]
    chosen = name or default_container(pod)
    found = container_named(pod, chosen)
    if found is None:
        raise CommandError(
            f"pod {pod['metadata']['name']} has no container {chosen}",
            hint=f"its containers are {', '.join(containers)}",
            code=ExitCode.NOT_FOUND,
        )
    if not name and len(containers) > 1 and not quiet:
        say(f'Defaulted container "{chosen}" out of: {", ".join(containers)}')
    return dict(found)


def attach_to(client: masthead.Client, pod: Plain, container: Plain, options: AttachOptions) -> int:
    """Attach to the main process of a container until it ends, and return its exit code.

    Args:
        client: The client.
        pod: The pod.
        container: One of its containers.
        options: How to attach.

    Raises:
        OSError: If a standard stream cannot be read or written any more.
        MastheadError: As any call.
    """
    metadata, name = pod["metadata"], container["name"]
    has_tty = bool(container.get("tty"))
    if options.tty and not has_tty and not options.quiet:
        say(f"error: Unable to use a TTY - container {name} did not allocate one")
    # As in kubectl: the process' own TTY decides, and without the user's input it is only watched.
    is_raw = has_tty and options.stdin and sys.stdin.isatty()
    if has_tty and options.stdin and not is_raw and not options.quiet:
        say("Unable to use a TTY - input is not a terminal or the right kind of file")
    if not options.quiet:
        say(_RECORDED)
        say(PROMPT)
    pods = client.core_v1.pods(metadata["namespace"])
    if is_raw:
        # In raw mode, keys such as Ctrl-C reach the process.
        code = pods.attach_interactive(metadata["name"], container=name)
        if not options.quiet:
            write(f"{_farewell(pod, name)}\n")
        return code
    # At pipes, input and output pass unchanged.
    with pods.attach(metadata["name"], container=name, stdin=options.stdin, stderr=not has_tty, tty=has_tty) as process:
        return relay(process, is_fed=options.stdin)


def _farewell(pod: Plain, container: str) -> str:
    """How to come back to a session that has ended."""
    metadata = pod["metadata"]
    again = f"'masthead attach {metadata['name']} -c {container} -n {metadata['namespace']} -i -t'"
    if any(text(each, "name") == container for each in entries(pod["spec"], "ephemeralContainers")):
        return (
            "Session ended, the ephemeral container will not be restarted but may be reattached using "
            f"{again} if it is still running"
        )
    return f"Session ended, resume using {again} command"
