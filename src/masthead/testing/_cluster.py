"""Clusters for the tests of any client: a server, its kubeconfig, and the environment variables that lead to it."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from masthead._module import set_module
from masthead.errors import ConfigError
from masthead.testing._server_options import options_problem

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from contextlib import AbstractContextManager
    from unittest import TestResult

    from masthead_server.server import Server

__all__ = ["ClusterMixin", "ClusterRunner", "cluster", "environ_of"]

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
def cluster(**options: object) -> ClusterRunner:
    """Run a server, and lead every client of this process and its children to it by environment variables.

    ``KUBECONFIG`` names its kubeconfig, proxies are not asked for it, and the variables of pods are absent; all are
    restored afterwards. Deployments and the like have pods, and the pods run::

        import masthead.testing

        with masthead.testing.cluster(), masthead.Client() as client:  # or any other client that reads KUBECONFIG
            assert client.core_v1.namespaces.get("default").status.phase == "Active"

    ``async with`` is possible, too. The server runs in a thread of its own in either case.

    Args:
        **options: Arguments of `masthead.server.run`; ``workloads`` and ``kubelet`` are True by default, unless
            ``controllers`` is False.

    Raises:
        TypeError: If there is no such option.
    """
    if problem := options_problem("masthead.testing.cluster", options):
        raise TypeError(problem)
    return ClusterRunner(options)


@set_module("masthead.testing")
class ClusterRunner:
    """A cluster for the length of one block, which ``with`` or ``async with`` enters once: `cluster` makes one."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self._options = options
        self._was_entered = False
        self._stack = ExitStack()

    def __enter__(self) -> Server:
        """Start the server, and set the environment variables.

        Raises:
            ConfigError: If it was started before, or an option is invalid.
        """
        import masthead.server

        if self._was_entered:
            raise ConfigError("this cluster was started before; call masthead.testing.cluster() again for another")
        self._was_entered = True
        with ExitStack() as stack:
            chosen = cast("dict[str, Any]", {**_defaults_for(self._options), **self._options})
            server = stack.enter_context(masthead.server.run(**chosen))
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="masthead-"))
            stack.enter_context(environ_of(server.write_kubeconfig(Path(folder) / "kubeconfig.yaml")))
            # What a later step leaves behind when it fails is cleaned up; what succeeded stays for the block.
            self._stack = stack.pop_all()
        return server

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    async def __aenter__(self) -> Server:
        # In another thread, or the test's event loop would wait for the start.
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._stack.close)


def _defaults_for(options: Mapping[str, object]) -> Mapping[str, object]:
    # kube-apiserver alone runs neither.
    return {} if options.get("controllers") is False else {"workloads": True, "kubelet": True}


class _MissingServer:
    """The attribute ``kube_server`` until setUp has set it."""

    def __get__(self, case: object | None, owner: type) -> Server:
        if case is None:
            problem = (
                "each test has a server of its own, and the class has none. For one server for all its tests, call "
            )
            problem += "cls.enterClassContext(masthead.testing.cluster()) in setUpClass, without ClusterMixin"
        else:
            problem = "the server starts in setUp of ClusterMixin. Call super().setUp() first in your own"
        raise AttributeError(f"{owner.__name__}.kube_server: {problem}")


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

    It comes before the base class, which may also be `unittest.IsolatedAsyncioTestCase`. A ``setUp`` of your own calls
    ``super().setUp()`` first.

    Attributes:
        kube_server_options: Arguments of `masthead.server.run`, to be overridden.
        kube_server: The server of the test.
    """

    kube_server_options: ClassVar[Mapping[str, object]] = {}
    kube_server: Server = cast("Server", _MissingServer())

    def __init_subclass__(cls, **options: object) -> None:
        """Check the order of the base classes.

        Raises:
            TypeError: If `unittest.TestCase` comes first: its ``setUp`` would replace that of this class.
        """
        super().__init_subclass__(**options)
        from unittest import TestCase  # which other programs do not need

        order = cls.__mro__
        if TestCase in order and order.index(TestCase) < order.index(ClusterMixin):
            bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not ClusterMixin)
            right = f"class {cls.__name__}(ClusterMixin, {bases})"
            raise TypeError(f"ClusterMixin comes before TestCase, whose setUp would start no server: {right}")

    def setUp(self) -> None:
        """Start the server.

        Raises:
            TypeError: If `kube_server_options` has an unknown option.
        """
        if problem := options_problem(f"kube_server_options of {type(self).__name__}", self.kube_server_options):
            raise TypeError(problem)
        enter = cast("_EnterContext", getattr(self, "enterContext"))  # noqa: B009 - of the TestCase
        self.kube_server = enter(cluster(**self.kube_server_options))
        cast("Any", super()).setUp()

    def run(self, result: TestResult | None = None) -> TestResult | None:
        """Run the test, which fails if its ``setUp`` has not started the server."""
        set_up = self.setUp

        def start() -> None:
            set_up()
            # Without the server, clients would find another cluster, such as the user's own.
            if "kube_server" not in vars(self):
                raise TypeError(f"setUp of {type(self).__name__} must call super().setUp(), which starts the server")

        vars(self).pop("kube_server", None)
        vars(self)["setUp"] = start
        try:
            return cast("TestResult | None", cast("Any", super()).run(result))
        finally:
            del vars(self)["setUp"]


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
