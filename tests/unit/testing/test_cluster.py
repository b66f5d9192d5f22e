"""Clusters for the tests of any client: they find the server by the environment, which is restored."""

from __future__ import annotations

import os
import sys
import types
import unittest
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ConfigError
from masthead.testing import ClusterMixin, cluster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead.server import Server

SMALL: Mapping[str, object] = {"bootstrap": False, "workloads": False, "kubelet": False}


def run(tests: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(tests).run(result)
    return result


def failures(result: unittest.TestResult) -> list[str]:
    """The last lines of all errors and failures."""
    return [text.rstrip().rpartition("\n")[2] for _, text in (*result.errors, *result.failures)]


def test_a_client_finds_the_cluster_by_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/elsewhere")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("NO_PROXY", "example.com")

    with cluster(workloads=False, kubelet=False, bootstrap=False) as server:
        assert "KUBERNETES_SERVICE_HOST" not in os.environ
        assert os.environ["NO_PROXY"].split(",") == ["example.com", "127.0.0.1", "localhost", "::1"]
        with masthead.Client() as client:
            made = client.core_v1.config_maps("default").create(ConfigMap.new("settings"))
        assert len(server.history(made)) == 1

    assert (os.environ["KUBECONFIG"], os.environ["KUBERNETES_SERVICE_HOST"]) == ("/elsewhere", "10.0.0.1")
    assert os.environ["NO_PROXY"] == "example.com"


def test_a_client_that_read_the_variable_at_its_import_is_led_to_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("kubernetes.config.kube_config")
    module.KUBE_CONFIG_DEFAULT_LOCATION = "~/.kube/config"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kubernetes.config.kube_config", module)

    with cluster(workloads=False, kubelet=False, bootstrap=False):
        assert os.environ["KUBECONFIG"] == module.KUBE_CONFIG_DEFAULT_LOCATION

    assert module.KUBE_CONFIG_DEFAULT_LOCATION == "~/.kube/config"


def test_each_test_of_a_test_case_has_a_cluster_of_its_own() -> None:
    urls: list[str] = []

    class Tests(ClusterMixin, unittest.TestCase):
        kube_server_options: ClassVar[Mapping[str, object]] = {"bootstrap": False, "kubelet": False}

        def test_one(self) -> None:
            urls.append(self.kube_server.url)

        def test_two(self) -> None:
            urls.append(self.kube_server.url)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)

    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
    assert len(set(urls)) == 2


def test_an_asynchronous_test_case_has_a_cluster_too() -> None:
    phases: list[str] = []

    class Tests(ClusterMixin, unittest.IsolatedAsyncioTestCase):
        kube_server_options: ClassVar[Mapping[str, object]] = {"bootstrap": False, "kubelet": False}

        async def test_one(self) -> None:
            from masthead.aio import Client

            async with Client() as client:
                namespace = await client.core_v1.namespaces.get("default")
                phases.append(namespace.status.phase or "")

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)

    assert (result.errors, result.failures, phases) == ([], [], ["Active"])


def test_the_tests_of_a_class_may_share_a_cluster() -> None:
    urls: list[str] = []

    class Tests(unittest.TestCase):
        server: ClassVar[Server]

        @classmethod
        def setUpClass(cls) -> None:
            cls.server = cls.enterClassContext(cluster(**SMALL))

        def test_one(self) -> None:
            urls.append(self.server.url)

        def test_two(self) -> None:
            with masthead.Client() as client:
                client.core_v1.namespaces.get("default")
            urls.append(self.server.url)

    assert (failures(run(Tests)), len(set(urls)), len(urls)) == ([], 1, 2)


@pytest.mark.asyncio
async def test_a_cluster_is_for_async_with_too() -> None:
    async with cluster(**SMALL) as server, masthead.aio.Client() as client:
        assert (await client.core_v1.namespaces.get("default")).status.phase == "Active"
        assert os.environ["KUBECONFIG"]
    with pytest.raises(masthead.errors.ClosedError):
        server.compact()


def test_a_cluster_of_kube_apiserver_alone_runs_nothing() -> None:
    with cluster(controllers=False) as server:
        assert "nodes" not in server.dump()


def test_a_cluster_is_entered_once() -> None:
    once = cluster(**SMALL)
    with once:
        pass
    with pytest.raises(ConfigError, match=r"call masthead\.testing\.cluster"), once:
        pass


def test_a_cluster_that_cannot_start_leaves_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/elsewhere")
    with pytest.raises(ConfigError, match="history is a number"), cluster(history=0):
        pass
    assert os.environ["KUBECONFIG"] == "/elsewhere"


def test_an_unknown_option_is_refused_at_once() -> None:
    with pytest.raises(
        TypeError, match=r"cluster has no option 'nodez'; the nearest is 'nodes'; masthead.server.run has"
    ):
        cluster(nodez=1)


def test_an_unknown_option_of_a_test_case_is_explained() -> None:
    class Tests(ClusterMixin, unittest.TestCase):
        kube_server_options: ClassVar[Mapping[str, object]] = {"nodez": 2}

        def test_one(self) -> None:
            pass

    [problem] = failures(run(Tests))
    assert problem.startswith("TypeError: kube_server_options of Tests has no option 'nodez'; the nearest is 'nodes'")


@pytest.mark.parametrize("base", [unittest.TestCase, unittest.IsolatedAsyncioTestCase])
def test_a_mixin_behind_its_test_case_is_refused(base: Any) -> None:
    message = rf"ClusterMixin comes before TestCase.*: class Tests\(ClusterMixin, {base.__name__}\)"
    with pytest.raises(TypeError, match=message):
        type("Tests", (base, ClusterMixin), {})


@pytest.mark.parametrize("base", [unittest.TestCase, unittest.IsolatedAsyncioTestCase])
def test_a_setup_that_starts_no_server_fails_before_the_test(base: Any) -> None:
    ran: list[str] = []

    class Tests(ClusterMixin, base):  # type: ignore[misc] # a parameter
        def setUp(self) -> None:
            ran.append("setUp")

        def test_one(self) -> None:
            ran.append("test")

    assert failures(run(Tests)) == ["TypeError: setUp of Tests must call super().setUp(), which starts the server"]
    assert ran == ["setUp"]


def test_a_server_before_its_start_is_explained() -> None:
    class Tests(ClusterMixin, unittest.TestCase):
        kube_server_options = SMALL

        def setUp(self) -> None:
            self.kube_server.block_until_idle()
            super().setUp()

        def test_one(self) -> None:
            pass

    message = "the server starts in setUp of ClusterMixin. Call super().setUp() first in your own"
    assert failures(run(Tests)) == [f"AttributeError: Tests.kube_server: {message}"]
    with pytest.raises(AttributeError, match=r"Tests.kube_server: each test has a server .* in setUpClass"):
        _ = Tests.kube_server


def test_a_test_may_be_skipped_before_its_server_starts() -> None:
    class Tests(ClusterMixin, unittest.TestCase):
        def setUp(self) -> None:
            self.skipTest("not today")

        def test_one(self) -> None:
            pass

    result = run(Tests)
    assert (failures(result), [reason for _, reason in result.skipped]) == ([], ["not today"])
