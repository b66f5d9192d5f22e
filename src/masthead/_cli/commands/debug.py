"""``masthead debug``: containers for debugging, in pods and on nodes."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from masthead._cli.completion import complete_pods
from masthead._cli.debug_profiles import PROFILES
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.manifest_files import file_options
from masthead._cli.terminal import say, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cli.debug_pods import DebugRequest
    from masthead._cli.debug_profiles import KeptFields
    from masthead._cli.shared_options import State

__all__ = ["command"]

F = TypeVar("F", bound="Callable[..., Any]")

_IMAGE: Final = re.compile(
    r"(?:(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w.-]+(?=:[0-9]))(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::\w[\w.-]{0,127})?(?:@[A-Za-z][\w.+-]*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_KEPT: Final = (
    ("labels", "its labels", False),
    ("annotations", "its annotations", False),
    ("liveness", "liveness probes", False),
    ("readiness", "readiness probes", False),
    ("startup", "startup probes", False),
    ("init-containers", "init containers (the default)", True),
)
_LEGACY: Final = (
    "--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to specify other profile, "
    'for example "--profile=general".'
)


def _to_pairs(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """The callback of options that are ``NAME=VALUE``, or several with commas between them."""
    pairs: dict[str, str] = {}
    for text in value:
        # As for kubectl: with one equals sign, commas belong to the value.
        parts = [text.strip('"')] if text.count("=") == 1 else next(csv.reader([text]))
        for part in parts:
            name, equals, given = part.partition("=")
            if not equals or not name:
                raise click.BadParameter(f"{part!r} is not NAME=VALUE", ctx, param)
            pairs[name] = given
    return pairs


def _keep_options(function: F) -> F:
    """Add the options for what a copy keeps."""
    for name, what, is_kept in reversed(_KEPT):
        option = f"--keep-{name}/--no-keep-{name}" if is_kept else f"--keep-{name}"
        text = f"with --copy-to: keep {what}"
        function = click.option(option, is_flag=True, default=is_kept, help=text)(function)
    return function


@cluster_command("debug")
@click.argument("name", required=False, metavar="[POD | node/NAME]", shell_complete=complete_pods)
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARGUMENT]...]")
@file_options
@click.option("--image", default="", metavar="IMAGE", help="the image of the debugging container")
@click.option("-c", "--container", default="", metavar="NAME", help="its name (debugger-xxxxx)")
@click.option("--target", default="", metavar="NAME", help="the container whose processes it sees")
@click.option("--profile", type=click.Choice(PROFILES), default="general", show_default=True, help="what it may do")
@click.option("--env", multiple=True, metavar="NAME=VALUE", callback=_to_pairs, help="a variable of its environment")
@click.option("-i", "--stdin", is_flag=True, help="pass the standard input on")
@click.option("-t", "--tty", is_flag=True, help="at a terminal, such as a shell; with -i")
@click.option("--attach/--no-attach", "attaches", default=None, help="attach to it (with -i, unless --no-attach)")
@click.option("--copy-to", default="", metavar="NAME", help="debug a copy of the pod, with this name")
@click.option(
    "--set-image",
    "images",
    multiple=True,
    metavar="NAME=IMAGE",
    callback=_to_pairs,
    help="with --copy-to: change the images of containers, * for all",
)
@click.option("--replace", is_flag=True, help="with --copy-to: delete the pod")
@click.option("--same-node", is_flag=True, help="with --copy-to: on the node of the pod")
@click.option(
    "--share-processes/--no-share-processes", default=None, help="with --copy-to: containers see each other's processes"
)
@_keep_options
@click.option("--arguments-only", "are_arguments", is_flag=True, help="COMMAND is arguments of the image's command")
@click.option(
    "--image-pull-policy",
    "pull_policy",
    type=click.Choice(["Always", "IfNotPresent", "Never"]),
    default=None,
    help="when the image is pulled",
)
@click.option("-q", "--quiet", is_flag=True, help="only what the container prints")
@click.pass_obj
def command(
    state: State,
    /,
    name: str | None,
    words: tuple[str, ...],
    files: tuple[str, ...],
    kustomize: str | None,
    container: str,
    attaches: bool | None,
    replace: bool,
    quiet: bool,
    **options: Any,  # noqa: ANN401 - those of DebugRequest
) -> int:
    """Debug a pod or a node: with an ephemeral container in the pod, in a copy of it, or in a pod on the node.

    A node's file system is at /host. Profiles say what the container may do: general may trace processes, sysadmin
    is privileged, restricted passes the strictest policy.

    \b
    masthead debug web -it --image=busybox
    masthead debug web -it --image=busybox --target=main -- sh
    masthead debug web -it --copy-to=web-debug --set-image=main=web:debug
    masthead debug node/node-1 -it --image=busybox --profile=sysadmin
    """
    from masthead._cli.attaching import AttachOptions
    from masthead._cli.debug_pods import DebugRequest
    from masthead._cli.debug_session import attach_to_debugger
    from masthead._cli.debug_targets import find_targets, start_debugger

    # Behind -f, all words are the command.
    if files and name is not None:
        words, name = (name, *words), None
    options["pull_policy"] = options["pull_policy"] or ""
    # Everything is checked before the first request.
    request = DebugRequest(words=words, container=container, kept=_take_kept(options), **options)
    _check(request, replace=replace, must_attach=bool(attaches))
    if request.target and not quiet:
        write(
            f'Targeting container "{request.target}". If you don\'t see processes from this container it may be '
            "because the container runtime doesn't support this feature.\n"
        )
    if request.profile == "legacy":
        say(_LEGACY)
    code = int(ExitCode.OK)
    with state.connect() as client:
        for target in find_targets(client, state, name, files, kustomize):
            debugger = start_debugger(client, target, request, replaces=replace, quiet=quiet)
            if (request.stdin if attaches is None else attaches) and debugger.container:
                how = AttachOptions(request.stdin, request.tty, quiet)
                code = attach_to_debugger(client, debugger.namespace, debugger.pod, debugger.container, how)
    return code


def _take_kept(options: dict[str, Any]) -> KeptFields:
    """Take the options for what a copy keeps out of all options."""
    from masthead._cli.debug_profiles import KeptFields

    names = [name for name in options if name.startswith("keep_")]
    return KeptFields(**{name.removeprefix("keep_"): options.pop(name) for name in names})


def _usage(line: str, hint: str = "") -> CommandError:
    return CommandError(line, hint=hint, code=ExitCode.USAGE)


def _check(request: DebugRequest, *, replace: bool, must_attach: bool) -> None:
    """Refuse options that contradict each other, in the order of kubectl.

    Raises:
        CommandError: If some do.
    """
    if must_attach and not request.image and not request.container:
        raise _usage("--attach needs a container: name one with -c, or a new one with --image")
    if request.copy_to:
        _check_copy(request)
    else:
        only_copies = {"--replace": replace, "--same-node": request.same_node, "--set-image": bool(request.images)}
        for option, is_given in only_copies.items():
            if is_given:
                raise _usage(f"{option} goes with --copy-to")
        if not request.image:
            raise _usage("--image names the image of the debugging container", "for example --image=busybox")
    for image in (request.image, *request.images.values()):
        if image and not _IMAGE.fullmatch(image):
            raise _usage(f"{image!r} is not the name of an image")
    if request.tty and not request.stdin:
        raise _usage("-t goes with -i", "write -it")


def _check_copy(request: DebugRequest) -> None:
    if not (request.image or request.images or request.words):
        raise _usage("--copy-to goes with --image, --set-image or a command")
    if request.words and not request.container and not request.image:
        raise _usage("which container gets the command?", "name one with -c, or a new one with --image")
    if request.target:
        raise _usage("--target excludes --copy-to", "--share-processes shows a copy's processes")
