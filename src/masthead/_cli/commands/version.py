"""``masthead version``: the versions of this client and of the server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import click

from masthead._cli.failures import ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.server_warnings import say_warning
from masthead._cli.terminal import write
from masthead._version import __version__

if TYPE_CHECKING:
    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["command", "skew_problem"]


@cluster_command("version")
@click.option("--client", "client_only", is_flag=True, help="only this client, without a request")
@click.option("-o", "--output", type=click.Choice(("yaml", "json")), help="all that is known, for programs")
@click.pass_obj
def command(state: State, client_only: bool, output: str | None) -> int:
    """Print the versions of this client, of the Kubernetes API that it is made for, and of the server.

    Without a reachable server, the client's are printed, then the error. masthead --version prints nothing but the
    version of masthead, and is quicker.

    \b
    masthead version --client
    masthead version -o json
    """
    from masthead.errors import MastheadError

    found: Plain | None = None
    failure: MastheadError | None = None
    if not client_only:
        try:
            with state.connect() as client:
                found = _server_version(client)
        except MastheadError as error:
            failure = error
    _print(found, output)
    if found is not None and (problem := skew_problem(_number_of(found))):
        say_warning(problem, no_color=state.no_color)
    # At the end, so that the client's version is printed in any case.
    if failure is not None:
        raise failure
    return ExitCode.OK


def _server_version(client: masthead.Client) -> Plain:
    """Request the version, with the fields that the library does not know.

    Raises:
        MastheadError: As any call; also if the response is not a version.
    """
    from masthead.errors import DecodeError

    body = client.rest.get("/version").body
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DecodeError(str(error), kind="server version") from None
    if not isinstance(found, dict):
        raise DecodeError("expected an object", kind="server version")
    return cast("Plain", found)


def _client_version() -> Plain:
    import platform

    major, minor, *_ = __version__.split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{__version__}",
        "compiler": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }


def _kubernetes_version() -> str:
    from masthead._cli.diagnosis import TESTED

    return f"{TESTED[0]}.{TESTED[1]}"


def _print(server: Plain | None, output: str | None) -> None:
    client = _client_version()
    if output is None:
        from masthead._meta.plain import text

        write(f"Client Version: {client['gitVersion']}\nKubernetes API: v{_kubernetes_version()}\n")
        if server is not None:
            write(f"Server Version: {text(server, 'gitVersion')}\n")
        return
    from masthead._cli.outputs import parse_output

    shown: Plain = {"clientVersion": client, "kubernetesVersion": _kubernetes_version()}
    write(parse_output(output).render(shown if server is None else {**shown, "serverVersion": server}))


def _number_of(version: Plain) -> tuple[int, int]:
    from masthead._meta.plain import text
    from masthead.discovery import ServerVersion

    return ServerVersion(
        major=text(version, "major"), minor=text(version, "minor"), git_version=text(version, "gitVersion")
    ).number


def skew_problem(server: tuple[int, int]) -> str:
    """Return why this client does not support a server's version; empty if it does.

    Args:
        server: Major and minor of the server.
    """
    from masthead._cli.diagnosis import MAX_NEWER, OLDEST, TESTED, judge_version

    # Providers may leave the numbers out; then nothing can be said.
    if server == (0, 0) or judge_version("", server).mark == "ok":
        return ""
    return (
        f"version difference between client ({_kubernetes_version()}) and server ({server[0]}.{server[1]}) exceeds "
        f"the supported minor version skew of -{TESTED[1] - OLDEST[1]}/+{MAX_NEWER}"
    )
