"""``python -m masthead.server``: a server from the command line."""

from __future__ import annotations

import argparse
import asyncio
import logging
import math
import os
import re
import shlex
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from masthead._arguments import ArgumentParser
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from masthead_server.node_templates import NodeTemplate
    from masthead_server.server import Server
    from masthead_server.settings import Token

__all__ = ["main"]

_BAD_ARGUMENTS = 2
_log = logging.getLogger("masthead.server")
_SERVICE = re.compile(r"(?P<service>[^/:=]+/[^/:=]+)(:(?P<port>[0-9]{1,5}))?=(?P<target>[0-9]{1,5})")
_WEBHOOK_PORT = 443
"""The port of a Service that a webhook does not name."""


def main(arguments: Sequence[str] | None = None, *, name: str = "python -m masthead.server") -> int:
    """Run a server until SIGINT or SIGTERM; return the process' exit code.

    A signal shuts it down gracefully, with code 0. An invalid setting is reported in one line, with code 2.

    Args:
        arguments: The command line without the command; the process' own by default.
        name: The name of the command in messages.
    """
    chosen = _parser(name).parse_args(arguments)
    _log_requests(chosen.verbose)
    try:
        from masthead_server.runner import run_alone

        run_alone(_serve(chosen))
    except ConfigError as error:
        # The errors of YAML have several lines.
        print(f"{name}: {'; '.join(map(str.strip, str(error).splitlines()))}", file=sys.stderr)
        return _BAD_ARGUMENTS
    except KeyboardInterrupt:  # before the server started
        pass
    return 0


def _parser(name: str) -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog=name,
        description="Run a Kubernetes API server for tests, demos and work without a cluster.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (any that is free)")
    _add_contents(parser)
    _add_access(parser)
    _add_admission(parser)
    _add_nodes(parser)
    parser.add_argument("--no-controllers", action="store_true", help="behave like kube-apiserver alone")
    parser.add_argument("--no-workloads", action="store_true", help="leave Deployments and the like without pods")
    parser.add_argument("--no-kubelet", action="store_true", help="leave pods pending, and run nothing in them")
    parser.add_argument(
        "--no-bootstrap",
        action="store_true",
        help="start with namespaces only: no roles, no Service kubernetes",
    )
    parser.add_argument(
        "--sharded-list-and-watch",
        action="store_true",
        help="let lists and watches be limited to a shard, as the feature gate ShardedListAndWatch does",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="make uids and names the same in every run")
    parser.add_argument("--allow-remote", action="store_true", help="allow a host that other machines can reach")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name that clients without the bearer token may use; * for any (can be repeated)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log a line for each request, on the error output")
    _add_limits(parser)
    return parser


def _add_contents(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help="keep objects in this file (in memory), and token and certificate authority beside it: with the same "
        "--port, kubeconfigs stay valid after a restart",
    )
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        type=Path,
        metavar="PATH",
        help="begin with the objects of this file or folder: manifests, kubectl get -o yaml, kubectl cluster-info dump "
        "(can be repeated)",
    )
    parser.add_argument(
        "--from",
        dest="recording",
        type=Path,
        metavar="FILE",
        help="replay this recording: begin with its objects, without controllers and kubelet",
    )
    parser.add_argument(
        "--at",
        metavar="MOMENT",
        help="the moment of the recording: a time, an offset from its begin as +90s, or a resource version (the end; "
        "with --speed, the begin)",
    )
    parser.add_argument(
        "--speed",
        type=_parse_speed,
        metavar="N",
        help="play the changes after that moment, N times faster than recorded; 0 or max for as fast as possible",
    )
    parser.add_argument(
        "--like",
        metavar="NAME",
        help="resemble a kind of cluster from the start: kind, for one of kind create cluster",
    )
    parser.add_argument("--kubeconfig-out", type=Path, metavar="FILE", help="write a kubeconfig to this file")


def _add_access(parser: ArgumentParser) -> None:
    access = parser.add_mutually_exclusive_group()
    access.add_argument("--token", metavar="TOKEN", help="what clients must show (a random one, which --data keeps)")
    access.add_argument("--no-auth", action="store_true", help="let everybody in, without a token")
    parser.add_argument(
        "--token-auth-file",
        type=Path,
        metavar="FILE",
        help='further users, one per line: token,user,uid,"group1,group2"',
    )
    parser.add_argument(
        "--anonymous-auth",
        action=argparse.BooleanOptionalAction,
        help="let requests without credentials in as system:anonymous (for health and version only)",
    )
    parser.add_argument(
        "--tls",
        action=argparse.BooleanOptionalAction,
        help="refuse plain HTTP (with --allow-remote, if the extra tls is installed)",
    )
    parser.add_argument(
        "--authorization",
        metavar="MODES",
        help="what decides who may do what: rbac, node,rbac (as in a cluster), node or always-deny (always-allow)",
    )


def _add_admission(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--enable-admission-plugins",
        type=_split_names,
        default=(),
        metavar="NAMES",
        help="admission plugins to run in addition to kube-apiserver's defaults, separated by commas",
    )
    parser.add_argument(
        "--disable-admission-plugins",
        type=_split_names,
        default=(),
        metavar="NAMES",
        help="admission plugins of the defaults to switch off, separated by commas",
    )
    parser.add_argument(
        "--service",
        action="append",
        default=[],
        type=_parse_service,
        metavar="NAMESPACE/NAME=PORT",
        help="the port of this machine behind the Service of a webhook (can be repeated); NAMESPACE/NAME:N=PORT if "
        "the Service's port is N and not 443",
    )


def _add_nodes(parser: ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, metavar="N", help="how many nodes there are (1)")
    parser.add_argument(
        "--node-template",
        type=Path,
        metavar="FILE",
        help="templates or manifests of the nodes, in YAML or JSON; with --nodes, there are that many nodes in all",
    )
    parser.add_argument(
        "--absent-image",
        action="append",
        default=[],
        type=_parse_image,
        metavar="PATTERN",
        help="images that cannot be pulled, such as 'shop:broken' or '*:nonexistent' (can be repeated)",
    )


def _add_limits(parser: ArgumentParser) -> None:
    parser.add_argument("--history", type=int, default=10_000, metavar="N", help="revisions to keep (%(default)s)")
    parser.add_argument(
        "--history-bytes",
        type=int,
        default=64 * 1024 * 1024,
        metavar="N",
        help="bytes of history to keep at most (%(default)s)",
    )
    parser.add_argument(
        "--bookmark-every",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="the time between a watch's bookmarks (%(default)g)",
    )
    parser.add_argument(
        "--event-ttl",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="the time until an Event is removed after its last write (%(default)g)",
    )


def _log_requests(is_verbose: bool) -> None:
    if not is_verbose:
        return
    from masthead_server.requestlog import REQUESTS

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    REQUESTS.addHandler(handler)
    REQUESTS.setLevel(logging.INFO)
    REQUESTS.propagate = False


async def _serve(chosen: argparse.Namespace) -> None:
    from masthead_server.runner import run

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows has no such handlers; Ctrl-C ends the loop there
            loop.add_signal_handler(number, stop.set)
    running = run(
        host=chosen.host,
        port=chosen.port,
        data=chosen.data,
        load=chosen.load,
        recording=chosen.recording,
        at=chosen.at,
        speed=chosen.speed,
        like=chosen.like,
        tls=_requires_tls(chosen),
        authorization=chosen.authorization,
        admission=_admission(chosen),
        controllers=_controllers(chosen),
        bootstrap=not chosen.no_bootstrap,
        workloads=_is_on(chosen.no_workloads, chosen),
        kubelet=_is_on(chosen.no_kubelet, chosen),
        nodes=_nodes(chosen),
        allow_remote=chosen.allow_remote,
        token=_token(chosen),
        token_file=chosen.token_auth_file,
        anonymous=chosen.anonymous_auth,
        seed=chosen.seed,
        sharded_list_and_watch=chosen.sharded_list_and_watch,
        history=chosen.history,
        history_bytes=chosen.history_bytes,
        allowed_hosts=chosen.allow_host,
        bookmark_every=chosen.bookmark_every,
        event_ttl=chosen.event_ttl,
    )
    async with running as server:
        _listen_on_services(server, chosen.service)
        # Before clients know the address, and create pods.
        for pattern in chosen.absent_image:
            server.kubelet.fail_pull(pattern)
        for hint in _hints(chosen):
            _log.warning("%s", hint)
        if chosen.kubeconfig_out is not None:
            server.write_kubeconfig(chosen.kubeconfig_out)
        for line in (*_greeting(server, chosen.data, chosen.kubeconfig_out), *_replay_lines(server, chosen)):
            print(line, flush=True)
        await stop.wait()
    _print_stopped()


def _controllers(chosen: argparse.Namespace) -> bool | Collection[str]:
    """Return the controllers: with workloads, also without a kubelet, node-lifecycle is among them.

    Nodes of a loaded dump have no heartbeats; their conditions must remain as loaded.
    """
    is_replay = chosen.recording is not None
    if chosen.no_controllers or chosen.no_workloads or not chosen.no_kubelet or chosen.load or is_replay:
        return not chosen.no_controllers
    from masthead_server.choices import default_controllers

    return default_controllers(bootstrap=not chosen.no_bootstrap) | {"node-lifecycle"}


def _is_on(is_refused: bool, chosen: argparse.Namespace) -> bool | None:
    """Return the setting of what runs by default: None where `run` refuses to combine with it."""
    if is_refused:
        return False
    return None if chosen.no_controllers or chosen.recording is not None else True


def _nodes(chosen: argparse.Namespace) -> int | list[NodeTemplate] | None:
    """Return the nodes; None for the default.

    Raises:
        ConfigError: If the file of the templates is broken.
    """
    if chosen.node_template is None:
        count: int | None = chosen.nodes
        return count
    from masthead_server.node_templates import read_templates, spread_templates

    templates = read_templates(chosen.node_template)
    return templates if chosen.nodes is None else spread_templates(templates, chosen.nodes)


def _print_stopped() -> None:
    try:
        print("Stopped", flush=True)
    except BrokenPipeError:
        # The reader has closed the pipe; keep Python from flushing again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _greeting(server: Server, data: Path | None, kubeconfig: Path | None) -> Iterator[str]:
    """The lines that are printed when the server listens: its address, and how to connect to it."""
    yield f"Serving on {server.url}"
    if data is not None:
        yield f"Objects are kept in {data}"
    if kubeconfig is not None:
        yield f"kubectl --kubeconfig {shlex.quote(str(kubeconfig))} get namespaces"
        yield f"masthead.Client(kubeconfig={str(kubeconfig)!r})"
        return
    if server.token:
        yield f"Token: {server.token}"
    yield "For a kubeconfig, for kubectl and for masthead.Client(kubeconfig=...), add --kubeconfig-out FILE"


def _replay_lines(server: Server, chosen: argparse.Namespace) -> Iterator[str]:
    if chosen.recording is None:
        return
    replay = server.replay
    moment = f"{replay.time:%Y-%m-%dT%H:%M:%SZ}, version {replay.version or '0'}"
    yield f"{'Playing' if replay.is_playing else 'Showing'} {chosen.recording} at {moment}"


def _requires_tls(chosen: argparse.Namespace) -> bool:
    """Whether plain HTTP is refused: on a network, by default, where others could read the token."""
    from masthead_server.tls import can_issue

    if chosen.tls is not None:
        return bool(chosen.tls)
    return chosen.allow_remote and not chosen.no_auth and can_issue()


def _hints(chosen: argparse.Namespace) -> Iterator[str]:
    """Explain settings that defeat authorization by roles."""
    from masthead_server.authorization_modes import AuthorizationMode, parse_modes

    if chosen.authorization is None or AuthorizationMode.RBAC not in parse_modes(chosen.authorization):
        return
    if chosen.no_auth:
        yield "With --no-auth, everyone without credentials is an administrator, whom roles do not limit."
    if chosen.no_bootstrap:
        yield "With --no-bootstrap, there are no roles: until some are created, only the administrator may do anything."


def _parse_speed(value: str) -> float:
    try:
        speed = 0.0 if value == "max" else float(value)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < math.inf:
        raise argparse.ArgumentTypeError(f"{value!r} is no speed: give a factor, such as 10, or max")
    return speed


def _parse_service(value: str) -> tuple[str, int, int]:
    """Read a Service, its port, and the port behind it."""
    match = _SERVICE.fullmatch(value)
    if match is None:
        raise argparse.ArgumentTypeError(f"{value!r} is not a Service and a port, such as default/hook=9443")
    return match["service"], int(match["port"] or _WEBHOOK_PORT), int(match["target"])


def _listen_on_services(server: Server, services: Iterable[tuple[str, int, int]]) -> None:
    for service, port, target in services:
        try:
            server.listen_on_service(service, target, port=port)
        except ValueError as error:
            raise ConfigError(f"--service {service}: {error}") from None


def _parse_image(value: str) -> str:
    if not value.strip():
        raise argparse.ArgumentTypeError("it is empty: name an image, or a pattern such as '*:nonexistent'")
    return value


def _split_names(value: str) -> tuple[str, ...]:
    names = tuple(filter(None, (name.strip() for name in value.split(","))))
    if not names:
        raise argparse.ArgumentTypeError("it is empty: name a plugin, or leave the option out")
    return names


def _admission(chosen: argparse.Namespace) -> dict[str, bool]:
    """Return the plugins that are switched on or off.

    Raises:
        ConfigError: If a plugin is to be on and off.
    """
    enabled, disabled = set(chosen.enable_admission_plugins), set(chosen.disable_admission_plugins)
    if both := sorted(enabled & disabled):
        raise ConfigError(f"the admission plugin {both[0]} is enabled and disabled; choose one")
    return {**dict.fromkeys(enabled, True), **dict.fromkeys(disabled, False)}


def _token(chosen: argparse.Namespace) -> str | Token | None:
    from masthead_server.settings import Token

    if chosen.no_auth:
        return None
    return Token.RANDOM if chosen.token is None else str(chosen.token)
