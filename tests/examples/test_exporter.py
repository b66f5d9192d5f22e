"""exporter.py, on the embedded server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from examples.exporter import ClusterCollector
from prometheus_client import CollectorRegistry
from tests.examples.pods import new_deployment, new_pod

import masthead
from masthead.api.core.v1 import Node
from masthead.meta import Patch

if TYPE_CHECKING:
    from masthead.server import Server

WEB = {"namespace": "default", "pod": "web"}


def test_metrics_are_those_of_the_moment_of_the_scrape(kube_server: Server, kube_client: masthead.Client) -> None:
    core = kube_client.core_v1
    core.pods("default").create(new_pod("web"))
    kube_server.kubelet.start("web")
    kube_client.apps_v1.deployments("default").create(new_deployment("web"))
    core.nodes().create(Node.new("node-1"))
    registry = CollectorRegistry()
    factory = masthead.SharedInformerFactory(kube_client)
    registry.register(ClusterCollector(factory))
    with pytest.warns(RuntimeWarning, match="before their informer has synced"):
        assert registry.get_sample_value("cluster_pod_restarts", WEB) is None  # there is nothing yet

    with factory:
        factory.wait_for_cache_sync(timeout=10)
        assert registry.get_sample_value("cluster_pod_phase", {**WEB, "phase": "Running"}) == 1
        assert registry.get_sample_value("cluster_pod_restarts", WEB) == 0
        labels = {"namespace": "default", "deployment": "web"}
        assert registry.get_sample_value("cluster_missing_replicas", labels) == 1
        assert registry.get_sample_value("cluster_node_ready", {"node": "node-1"}) == 0

        kube_server.kubelet.restart("web")
        ready = [{"type": "Ready", "status": "True"}]
        node = core.nodes().patch_status("node-1", Patch.merge({"status": {"conditions": ready}}))
        factory.core_v1.nodes.informer.wait_for_version(node, timeout=10)
        factory.core_v1.pods.informer.wait_for_version(core.pods("default").get("web"), timeout=10)
        assert registry.get_sample_value("cluster_pod_restarts", WEB) == 1
        assert registry.get_sample_value("cluster_node_ready", {"node": "node-1"}) == 1
