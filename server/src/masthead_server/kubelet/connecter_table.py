"""The connecter of each subresource; its module is imported with the first request, because many servers get none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead_server.kubelet.connect import Connecter
    from masthead_server.kubelet.runtime import PodRuntime

    Make: TypeAlias = Callable[[PodRuntime], Connecter]

__all__ = ["Connecters"]


def _log(runtime: PodRuntime) -> Connecter:
    from masthead_server.kubelet.log_endpoint import LogConnecter

    return LogConnecter(runtime)


def _command(runtime: PodRuntime) -> Connecter:
    from masthead_server.kubelet.remotecommand import RemoteCommandConnecter

    return RemoteCommandConnecter(runtime)


def _port_forward(runtime: PodRuntime) -> Connecter:
    from masthead_server.kubelet.portforward_endpoint import PortForwardConnecter

    return PortForwardConnecter(runtime)


def _proxy(runtime: PodRuntime) -> Connecter:
    from masthead_server.kubelet.proxy import ProxyConnecter

    return ProxyConnecter(runtime)


_MAKE: Final[Mapping[tuple[str, str], Make]] = {
    ("pods", "log"): _log,
    ("pods", "exec"): _command,
    ("pods", "attach"): _command,
    ("pods", "portforward"): _port_forward,
    ("pods", "proxy"): _proxy,
    ("services", "proxy"): _proxy,
    ("nodes", "proxy"): _proxy,
}


class Connecters(Mapping[tuple[str, str], "Connecter"]):
    """The connecters of a server, by resource and subresource, made when they are first asked for.

    Args:
        runtime: The pods and their containers.
    """

    def __init__(self, runtime: PodRuntime) -> None:
        self._runtime = runtime
        self._made: dict[Make, Connecter] = {}

    def __getitem__(self, key: tuple[str, str]) -> Connecter:
        make = _MAKE[key]
        if make not in self._made:
            self._made[make] = make(self._runtime)
        return self._made[make]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(_MAKE)

    def __len__(self) -> int:
        return len(_MAKE)
