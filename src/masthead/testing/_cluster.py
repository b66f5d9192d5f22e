"""Clusters for the tests of any client: a server, its kubeconfig, and the environment variables that lead to it."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from contextlib import AbstractContextManager

    from masthead_server.server import Server

__all__ = ["ClusterMixin", "cluster", "environ_of"]

_IN_CLUSTER: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""Variables of pods: clients that find them ignore the kubeconfig."""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_LOCATIONS: Final = (
    "kubernetes.config.kube_config",
    "kubernetes.aio.config.kube_config",
    "kubernetes_asyncio.config.kube_config",
)
"""Modules that read ``KUBECONFIG`` once, when they are imported."""
_LOCATION: Final = "KUBE_CONFIG_DEFAULT_LOCATION"


@set_module("masthead.testing")
@contextmanager
def cluster(**options: object) -> Generator[Server]:
    """Run a server, and lead every client of this process and its children to it by environment variables.

    ``KUBECONFIG`` names its kubeconfig, proxies are not asked for it, and the variables of pods are absent; all are
    restored afterwards. Deployments and the like have pods, and the pods run::

        import masthead.testing

        with masthead.testing.cluster(), masthead.Client() as client:  # or any other client that reads KUBECONFIG
            assert client.core_v1.namespaces.get("default").status.phase == "Active"

    Args:
        **options: Arguments of `masthead.server.run`; ``workloads`` and ``kubelet`` are True by default.

    Yields:
        The server.
    """
    import masthead.server

    chosen = cast("dict[str, Any]", {"workloads": True, "kubelet": True, **options})
    with (
        masthead.server.run(**chosen) as server,
        tempfile.TemporaryDirectory(prefix="masthead-") as folder,
        environ_of(server.write_kubeconfig(Path(folder) / "kubeconfig.yaml")),
    ):
        yield server


@set_module("masthead.testing")
class ClusterMixin:
    """A cluster for each test of a `unittest.TestCase`, as `cluster` runs it.

    ::

        import unittest

        import masthead.testing


        class Tests(masthead.testing.ClusterMixin, unittest.TestCase):
            def test_the_server_is_empty(self) -> None:
                with masthead.Client() as client:  # or any other client that reads KUBECONFIG
                    self.assertEqual(list(client.core_v1.pods("default").list()), [])

    It comes before the base class, which may also be `unittest.IsolatedAsyncioTestCase`.

    Attributes:
        kube_server_options: Arguments of `masthead.server.run`, to be overridden.
        kube_server: The server of the test.
    """

    kube_server_options: ClassVar[Mapping[str, object]] = {}
    kube_server: Server

    def setUp(self) -> None:
        """Start the server."""
        enter = cast("_EnterContext", getattr(self, "enterContext"))  # noqa: B009 - of the TestCase
        self.kube_server = enter(cluster(**self.kube_server_options))
        cast("Any", super()).setUp()


if TYPE_CHECKING:
    from typing import Protocol

    class _EnterContext(Protocol):
        """The method ``enterContext`` of test cases."""

        def __call__(self, context: AbstractContextManager[Server]) -> Server: ...


@contextmanager
def environ_of(kubeconfig: Path) -> Generator[Mapping[str, str]]:
    """Set the environment variables for a kubeconfig, and restore them afterwards.

    Args:
        kubeconfig: The file.

    Yields:
        The variables that are set.
    """
    changes = {"KUBECONFIG": str(kubeconfig)}
    for name in ("NO_PROXY", "no_proxy"):
        given = [host for host in os.environ.get(name, "").split(",") if host]
        changes[name] = ",".join(dict.fromkeys([*given, *_LOOPBACK]))
    previous = {name: os.environ.get(name) for name in (*changes, *_IN_CLUSTER)}
    locations = _known_locations()
    try:
        for name in _IN_CLUSTER:
            os.environ.pop(name, None)
        os.environ.update(changes)
        for module in locations:
            setattr(module, _LOCATION, str(kubeconfig))
        yield changes
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        # Modules that the test imported have the file's name, too.
        default = os.environ.get("KUBECONFIG", "~/.kube/config")
        for module in _known_locations():
            if getattr(module, _LOCATION) == str(kubeconfig):
                setattr(module, _LOCATION, locations.get(module, default))


def _known_locations() -> dict[Any, str]:
    """The imported modules that have read ``KUBECONFIG`` already, and its value then."""
    modules = [sys.modules[name] for name in _LOCATIONS if name in sys.modules]
    return {module: getattr(module, _LOCATION) for module in modules if hasattr(module, _LOCATION)}
