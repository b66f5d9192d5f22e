"""The webhook configurations of a server, a cache that follows its writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead_server.admission.webhooks.webhook import AdmissionWebhook
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

__all__ = ["WebhookConfigurations"]


class WebhookConfigurations:
    """The webhooks of all configurations of one kind.

    Args:
        cluster: The cluster state.
        table: The table of the configurations.

    Attributes:
        webhooks: The webhooks, in the order of their configurations' names.
    """

    def __init__(self, cluster: ClusterState, table: str) -> None:
        self.webhooks: tuple[AdmissionWebhook, ...] = ()
        self._cluster = cluster
        self._by_configuration: dict[str, tuple[AdmissionWebhook, ...]] = {}
        served = cluster.catalog.stored_in(table)
        # A server that is opened again has configurations already.
        for record in cluster.storage.table(table).scan("", cluster.storage.revision):
            if served is not None:
                self._set(served, record)
        cluster.observe(table, self._set)

    def _set(self, served: ServedResource, record: Record) -> None:
        if record.is_deleted:
            self._by_configuration.pop(record.key, None)
        else:
            # Imported with the first configuration; most servers never have one.
            from masthead_server.admission.webhooks.webhook import read_webhooks

            self._by_configuration[record.key] = read_webhooks(self._cluster, served.load(record))
        ordered = sorted(self._by_configuration)
        self.webhooks = tuple(hook for name in ordered for hook in self._by_configuration[name])
