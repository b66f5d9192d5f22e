"""The API ``metrics.k8s.io``, which ``top`` reads, and the reasons for a lack of metrics."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead._cli.failures import CommandError, explain
from masthead._cli.references import ObjectName, missing, resolve, say_nothing_found
from masthead._errors.advice import is_unknown_path
from masthead._meta.gvk import GroupVersionResource
from masthead._printers.ages import human_duration
from masthead.errors import NotFoundError, StatusError

if TYPE_CHECKING:
    from collections.abc import Generator

    import masthead
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["MetricsReader", "lack_of_metrics"]

_GROUP: Final = "metrics.k8s.io"
_VERSION: Final = "v1beta1"
_DELAY: Final = timedelta(minutes=2)
"""The age until which a pod may be without metrics."""
_UNAVAILABLE: Final = 503
_INSTALL: Final = (
    "install metrics-server (https://github.com/kubernetes-sigs/metrics-server); an embedded server serves what its "
    'program sets: server.metrics.set_pod("web-*", cpu="100m", memory="64Mi")'
)


@dataclass(frozen=True, slots=True)
class MetricsReader:
    """Reads metrics of pods and nodes.

    Attributes:
        client: The client.
        state: The shared options.
    """

    client: masthead.Client
    state: State

    def read_pods(self, name: str | None, selection: ObjectSelection) -> list[Plain]:
        """Read the metrics of pods; if no pod is selected, print that.

        Raises:
            CommandError: If pods have no metrics, or there is no such API.
            MastheadError: As any call.
        """
        namespace = None if self.state.all_namespaces else self.client.namespace
        found = self._read("pods", name, namespace, selection)
        if not found:
            self._explain_lack(namespace, selection)
        return found

    def read_nodes(self, name: str | None, selection: ObjectSelection) -> list[Plain]:
        """Read the metrics of nodes.

        Raises:
            CommandError: If there are none, or there is no such API.
            MastheadError: As any call.
        """
        found = self._read("nodes", name, None, selection)
        if not found:
            raise CommandError("metrics not available yet", hint="masthead get nodes shows the nodes that there are")
        return found

    def _read(self, kind: str, name: str | None, namespace: str | None, selection: ObjectSelection) -> list[Plain]:
        metrics = self.client.dynamic(GroupVersionResource(_GROUP, _VERSION, kind), namespace=namespace)
        with _explaining_absence():
            if name is None:
                listed = metrics.list(label_selector=selection.labels, field_selector=selection.fields)
                return [obj.to_dict() for obj in listed]
            try:
                return [metrics.get(name).to_dict()]
            except NotFoundError as error:
                if is_unknown_path(error.message):
                    raise
        # The metrics server knows neither why nor which names are similar.
        raise self._lack_of_one(kind, name)

    def _lack_of_one(self, kind: str, name: str) -> CommandError:
        """The error for an object without metrics."""
        (selected,) = resolve(self.client, self.state, [ObjectName(kind, (name,))])
        resource = self.client.metadata(selected.resource.gvr, namespace=selected.namespace)
        try:
            created = resource.get(name).metadata.creation_timestamp
        except NotFoundError:
            return missing(self.client, selected, name)
        where = f"{selected.namespace}/" if selected.namespace else ""
        return lack_of_metrics(f"{kind.removesuffix('s')} {where}{name}", created, datetime.now(UTC))

    def _explain_lack(self, namespace: str | None, selection: ObjectSelection) -> None:
        """Distinguish pods without metrics from no pods, and print that there are none.

        Raises:
            CommandError: If there are pods, or the namespace does not exist.
        """
        pods = self.client.metadata("v1", "pods", namespace=namespace).list(
            label_selector=selection.labels, field_selector=selection.fields
        )
        if not pods:
            say_nothing_found(self.client, namespace)
            return
        now = datetime.now(UTC)
        oldest = min((pod.metadata for pod in pods), key=lambda metadata: metadata.creation_timestamp or now)
        raise lack_of_metrics(f"pod {oldest.namespace}/{oldest.name}", oldest.creation_timestamp, now)


def lack_of_metrics(what: str, created: datetime | None, now: datetime) -> CommandError:
    """The error for something without metrics: they come late, or not at all. Pure.

    Args:
        what: The pod or node.
        created: When it was created.
        now: The time.
    """
    # Within this time, kubectl blames the delay of the metrics pipeline, too.
    age = now - (created or now)
    if age <= _DELAY:
        return CommandError("metrics not available yet", hint="they come a minute or two after a pod has started")
    return CommandError(
        f"Metrics not available for {what}, age: {human_duration(age.total_seconds())}",
        hint="only what runs has metrics",
    )


@contextmanager
def _explaining_absence() -> Generator[None]:
    """Say what to do if the API is missing, or the server behind it."""
    try:
        yield
    except NotFoundError:
        # A missing object was handled before, so that this 404 is about the path.
        raise CommandError("Metrics API not available", hint=_INSTALL) from None
    except StatusError as error:
        if error.code != _UNAVAILABLE:
            raise
        hint = f"masthead describe apiservice {_VERSION}.{_GROUP} shows what is wrong with the server of metrics"
        raise CommandError(explain(error).line, hint=hint) from None
