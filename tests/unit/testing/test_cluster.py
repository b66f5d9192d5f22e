"""Clusters for the tests of any client: they find the server by the environment, which is restored."""

from __future__ import annotations

import os
import sys
import types
import unittest
from typing import TYPE_CHECKING, ClassVar

import masthead
from masthead.api.core.v1 import ConfigMap
from masthead.testing import ClusterMixin, cluster

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest


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
