"""The cluster: the embedded API server with its nodes, and the network that leads to it."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import masthead
from masthead.api.apps.v1 import Deployment
from masthead.config import Config
from masthead_server.demo.network import Network
from masthead_server.demo.story import APPS, NODES, REPLICAS, Injection

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

_BOOKMARK_EVERY: Final = 0.4
"""Seconds; a real server takes a minute. So a silent watch is detected soon."""
NAMESPACE: Final = "default"
SILENCED: Final = "pods"
"""The resource whose watch goes silent."""


class DemoCluster:
    """An API server that can be restarted with its data, behind a network that can fail. To be used in ``with``.

    Args:
        folder: The directory of the data.

    Attributes:
        server: The running server.
    """

    def __init__(self, folder: Path) -> None:
        self._data = folder / "cluster.db"
        self._token = secrets.token_urlsafe()
        self._running = ExitStack()
        self.server = self._start()
        self._network = Network(self._port)

    def __enter__(self) -> Self:
        try:
            self._network.__enter__()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        # Clients that see a server end politely would wait for it.
        self._network.__exit__()
        self._running.close()

    @property
    def config(self) -> Config:
        """The configuration of clients behind the network."""
        # Plain HTTP: the network finds watches by their paths.
        return Config(server=f"http://127.0.0.1:{self._network.port}", token=self._token)

    @property
    def direct_config(self) -> Config:
        """The configuration of a client with a direct connection, which checks the others."""
        return Config(server=self.server.url, token=self._token)

    def inject(self, fault: Injection, write: Callable[[], object]) -> None:
        """Inject a fault.

        Args:
            fault: The kind of the fault.
            write: Writes to the cluster with a direct connection.
        """
        match fault:
            case Injection.CUT:
                self._network.cut()
            case Injection.SILENCE:
                self._network.silence_watches(SILENCED)
            case Injection.GONE:
                self._expire(write)
            case Injection.RESTART:
                self._restart()

    def _expire(self, write: Callable[[], object]) -> None:
        """Disconnect the clients until the versions that they know are no longer in the history."""
        self._network.close()
        try:
            # Without a newer version, the clients would know the latest one, and could continue.
            write()
            self.server.compact()
        finally:
            self._network.reopen()

    def _restart(self) -> None:
        """Stop the server, which ends every connection, and start it again with its data."""
        port = self._port
        self._running.close()
        # The network knows this port only.
        self.server = self._start(port)

    @property
    def _port(self) -> int:
        return urlsplit(self.server.url).port or 0

    def _start(self, port: int = 0) -> masthead.server.Server:
        run = masthead.server.run(
            data=self._data,
            port=port,
            token=self._token,
            bookmark_every=_BOOKMARK_EVERY,
            # Deployments get pods; the nodes imply a scheduler and a kubelet.
            workloads=True,
            nodes=[masthead.server.NodeTemplate(name=name) for name in NODES],
        )
        return self._running.enter_context(run)


def create_apps(client: masthead.Client) -> None:
    """Create the Deployments of the story."""
    for name in APPS:
        labels = {"app": name}
        # Terminating pods would otherwise count for half a minute.
        spec = {"containers": [{"name": "main", "image": image_of(name, 1)}], "terminationGracePeriodSeconds": 1}
        wanted = {
            "replicas": REPLICAS,
            # A second per pod, and one pod after the other, so that a rollout can be watched.
            "minReadySeconds": 1,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        }
        client.apps_v1.deployments(NAMESPACE).create(Deployment.new(name, labels=labels, spec=wanted))


def image_of(app: str, version: int) -> str:
    """The image of a version of an app."""
    return f"registry.example/{app}:v{version}"
