"""``masthead run NAME --image=IMAGE``: creates a pod; without ``--image``, `masthead._cli.run` runs an operator."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

from masthead._cli.creating import (
    CreationArguments,
    annotate_configuration,
    creation_options,
    printer_of,
    refuse,
    send_generated,
)
from masthead._cli.failures import ExitCode
from masthead._cli.foreground_pods import AttachArguments, delete_quietly, stay_attached
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.generated_pods import PodArguments, check_image, make_pod, make_pod_service
from masthead._cli.generator_groups import WordsCommand, container_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from masthead._cli.shared_options import State
    from masthead._cli.subjects import ResultPrinter
    from masthead._meta.plain import Plain

__all__ = ["command"]

F = TypeVar("F", bound="Callable[..., Any]")


class RunArguments(PodArguments, AttachArguments, CreationArguments):
    """The options of the command."""

    exposes: bool


def _pod_options(function: F) -> F:
    for option in (
        click.option(
            "--override-type",
            type=click.Choice(["merge", "strategic"]),
            default="merge",
            show_default=True,
            help="how they are merged",
        ),
        click.option("--overrides", default="", metavar="JSON", help="fields of the pod that take precedence"),
        click.option("--privileged", is_flag=True, help="give the container all rights on its node"),
        click.option(
            "--image-pull-policy",
            "pull_policy",
            type=click.Choice(["Always", "IfNotPresent", "Never"]),
            help="when the image is pulled (as the server decides)",
        ),
        click.option("--command", "is_command", is_flag=True, help="the words behind -- replace the image's command"),
        click.option(
            "--restart",
            type=click.Choice(["Always", "OnFailure", "Never"]),
            default="Always",
            show_default=True,
            help="when the container starts again",
        ),
        click.option("--port", type=int, metavar="PORT", help="the port of the container"),
        click.option(
            "--annotations", multiple=True, metavar="KEY=VALUE", help="an annotation of the pod (can be repeated)"
        ),
        click.option("-l", "--labels", default="", metavar="KEY=VALUE,...", help="its labels, instead of run=NAME"),
        click.option("--env", multiple=True, metavar="NAME=VALUE", help="a variable (can be repeated)"),
        click.option("--image", required=True, metavar="IMAGE", help="the image of the container"),
    ):
        function = option(function)
    return function


def _attach_options(function: F) -> F:
    for option in (
        click.option(
            "--pod-running-timeout",
            "running_timeout",
            metavar="DURATION",
            callback=to_seconds,
            help="how long to wait until the pod runs (1m)",
        ),
        click.option("-q", "--quiet", is_flag=True, help="print what the container prints, and nothing else"),
        click.option("--rm", "removes", is_flag=True, help="delete the pod at the end"),
        click.option("--leave-stdin-open", is_flag=True, help="leave its input open when the first client detaches"),
        click.option("--attach/--no-attach", default=None, help="show what it prints (with -i)"),
        click.option("-t", "--tty", is_flag=True, help="at a terminal, such as a shell; with -i"),
        click.option("-i", "--stdin", is_flag=True, help="pass the standard input on"),
    ):
        function = option(function)
    return function


@cluster_command("run", cls=WordsCommand)
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[ARGUMENT]...")
@_pod_options
@click.option("--expose", "exposes", is_flag=True, help="create a Service for --port, too")
@_attach_options
@creation_options
@click.pass_obj
def command(state: State, /, name: str, words: tuple[str, ...], **arguments: Unpack[RunArguments]) -> int:
    """Create a pod with one container. Without --image, this command runs an operator: see masthead run --help.

    \b
    masthead run web --image=nginx --port=80
    masthead run clock --image=busybox --restart=Never -- date
    masthead run shell --image=busybox -it --rm --restart=Never -- sh
    masthead run web --image=nginx --dry-run=client -o yaml
    """
    is_attached = arguments["stdin"] if arguments["attach"] is None else arguments["attach"]
    _check(arguments, is_attached=is_attached)
    printer = printer_of(arguments)
    objects = [make_pod(name, state.namespace, [*words, *container_words()], arguments)]
    if arguments["exposes"]:
        objects.append(make_pod_service(name, state.namespace, arguments["port"] or 0, arguments["labels"]))
    if arguments["dry_run"] == "client":
        _print(printer, objects)
        return ExitCode.OK
    # As kubectl, which does not annotate what it only prints.
    if arguments["save_config"]:
        for obj in objects:
            annotate_configuration(obj)
    with state.connect() as client:
        created: list[Plain] = []
        try:
            for obj in objects:
                created.append(send_generated(client, obj, arguments))  # noqa: PERF401 - those before an error count
            if is_attached:
                return stay_attached(client, created[0], arguments)
            _print(printer, created)
        finally:
            if arguments["removes"]:
                delete_quietly(client, created, quiet=arguments["quiet"])
    return ExitCode.OK


def _print(printer: ResultPrinter, objects: Sequence[Plain]) -> None:
    # The Service first, as kubectl does.
    for obj in reversed(objects):
        printer.print(obj, "created")


def _check(arguments: RunArguments, *, is_attached: bool) -> None:
    """Check the options, before anything is sent.

    Raises:
        CommandError: If they contradict each other.
    """
    check_image(arguments["image"])
    if arguments["tty"] and not arguments["stdin"]:
        raise refuse("-t needs -i")
    if arguments["tty"] and is_attached and not sys.stdin.isatty():
        raise refuse("-t needs a terminal", hint="leave -t out")
    if arguments["exposes"] and arguments["port"] is None:
        raise refuse("--expose needs --port")
    if arguments["removes"] and not is_attached:
        raise refuse("--rm needs -i or --attach: the pod would be deleted at once")
    if is_attached and arguments["dry_run"] != "none":
        raise refuse("--dry-run excludes -i and --attach")
