"""Export the state of a cluster to Prometheus: pods by phase, restarts, missing replicas, nodes that are not ready."""

from __future__ import annotations

import argparse
import sys
import threading
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

import masthead
from masthead.meta import is_condition_true

if TYPE_CHECKING:
    from collections.abc import Iterable


def gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    """A metric with labels."""
    return GaugeMetricFamily(name, text, labels=labels)


class ClusterCollector(Collector):
    """Looks into the caches at each scrape; the API server is not asked.

    Args:
        factory: The informers, which are started with it.
    """

    def __init__(self, factory: masthead.SharedInformerFactory) -> None:
        self._pods = factory.core_v1.pods.lister
        self._nodes = factory.core_v1.nodes.lister
        self._deployments = factory.apps_v1.deployments.lister

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The metrics of the objects as they are now."""
        phases = gauge("cluster_pod_phase", "The phase of a pod", "namespace", "pod", "phase")
        restarts = gauge("cluster_pod_restarts", "Restarts of the containers of a pod", "namespace", "pod")
        for pod in self._pods.list():
            labels = [pod.metadata.namespace, pod.metadata.name]
            phases.add_metric([*labels, pod.status.phase or "Unknown"], 1)
            restarts.add_metric(labels, sum(status.restart_count for status in pod.status.container_statuses))
        missing = gauge("cluster_missing_replicas", "Replicas not available", "namespace", "deployment")
        for deployment in self._deployments.list():
            replicas = (deployment.spec.replicas or 0) - (deployment.status.available_replicas or 0)
            missing.add_metric([deployment.metadata.namespace, deployment.metadata.name], replicas)
        ready = gauge("cluster_node_ready", "Whether a node is ready", "node")
        for node in self._nodes.list():
            ready.add_metric([node.metadata.name], is_condition_true(node.status.conditions, "Ready"))
        return phases, restarts, missing, ready


def main() -> None:
    """Serve /metrics until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9100, help="of /metrics; 9100 by default")
    port = parser.parse_args().port
    registry = CollectorRegistry()
    try:
        with masthead.Client() as client:
            factory = masthead.SharedInformerFactory(client, metrics=masthead.metrics.PrometheusMetrics(registry))
            registry.register(ClusterCollector(factory))
            with factory:
                factory.wait_for_cache_sync(timeout=60)
                start_http_server(port, registry=registry)
                print(f"http://localhost:{port}/metrics", flush=True)
                threading.Event().wait()
    except masthead.MastheadError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
