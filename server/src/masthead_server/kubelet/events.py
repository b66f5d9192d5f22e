"""The Events of pods and of their node, as scheduler, kubelet and node controller record them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.controllers.events import NORMAL, WARNING, SchedulerRecorder, ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectClient
from masthead_server.kubelet.images import BACK_OFF, INVALID_NAME, NEVER
from masthead_server.kubelet.pods import find_container, pod_label
from masthead_server.node_templates import NODE_NAME
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.cluster import ClusterState
    from masthead_server.kubelet.images import ImagePullError, ImagePulls
    from masthead_server.wire.plain import Plain

__all__ = ["PodEvents"]

_POD: Final = ("v1", "Pod")
_PULLED: Final = "in 0s (0s including waiting). Image size: 0 bytes."


class PodEvents:
    """Records Events about pods and nodes.

    Args:
        cluster: The cluster state.
        kubelet: Writes as the kubelet.
        images: Tells which images are pulled.
    """

    def __init__(self, cluster: ClusterState, kubelet: ObjectClient, images: ImagePulls) -> None:
        self._images = images
        self._kubelet = ServerEventRecorder(kubelet, "kubelet", NODE_NAME)
        self._scheduler = SchedulerRecorder(ObjectClient(cluster, "kube-scheduler"), "default-scheduler", NODE_NAME)
        self._node_controller = ServerEventRecorder(ObjectClient(cluster), "node-controller")

    def scheduled(self, pod: Plain, node: str) -> None:
        """Record that a pod was bound to a node."""
        meta = metadata(pod)
        message = f"Successfully assigned {text(meta, 'namespace')}/{text(meta, 'name')} to {node}"
        self._scheduler.record(reference_to(pod, *_POD), "Scheduled", "Binding", message)

    def started(self, pod: Plain, names: Iterable[str]) -> None:
        """Record that containers were started, with their images: a pull takes no time here."""
        for name in names:
            involved, image = _container(pod, name)
            if involved is None:
                continue
            if self._images.take_pull(find_container(pod, name)[1]):
                self._kubelet.record(involved, "Pulling", f"Pulling image {quoted(image)}")
                self._kubelet.record(involved, "Pulled", f"Successfully pulled image {quoted(image)} {_PULLED}")
            else:
                present = f"Container image {quoted(image)} already present on machine and can be accessed by the pod"
                self._kubelet.record(involved, "Pulled", present)
            self._kubelet.record(involved, "Created", "Container created")
            self._kubelet.record(involved, "Started", "Container started")

    def killing(self, pod: Plain, names: Iterable[str], message: str = "") -> None:
        """Record that containers are being killed: with their pod, or for another reason."""
        for name in names:
            involved, _ = _container(pod, name)
            if involved is not None:
                self._kubelet.record(involved, "Killing", message or f"Stopping container {name}")

    def warn(self, pod: Plain, name: str, reason: str, message: str) -> None:
        """Record a warning about a container."""
        involved, _ = _container(pod, name)
        if involved is not None:
            self._kubelet.record(involved, reason, message, event_type=WARNING)

    def script_skipped(self, pod: Plain, name: str, message: str) -> None:
        """Record that a script of a container is not run. No warning: a real node would run it."""
        involved, _ = _container(pod, name)
        if involved is not None:
            self._kubelet.record(involved, "ScriptNotRun", message)

    def about_pod(self, pod: Plain, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Record an event about a pod as a whole."""
        self._kubelet.record(reference_to(pod, *_POD), reason, message, event_type=WARNING if is_warning else NORMAL)

    def pulling_failed(self, pod: Plain, name: str, error: ImagePullError) -> None:
        """Record that the image of a container cannot be pulled."""
        involved, _ = _container(pod, name)
        if involved is None:
            return
        image = quoted(error.image)
        if error.reason == NEVER:
            self._kubelet.record(involved, NEVER, str(error), event_type=WARNING)
        elif error.reason == INVALID_NAME:
            self._kubelet.record(involved, "InspectFailed", str(error), event_type=WARNING)
        elif error.reason == BACK_OFF:
            self._kubelet.record(involved, "BackOff", f"Back-off pulling image {image}")
        else:
            self._kubelet.record(involved, "Pulling", f"Pulling image {image}")
            failed = f"Failed to pull image {image}: {error.detail}"
            self._kubelet.record(involved, "Failed", failed, event_type=WARNING)
        self._kubelet.record(involved, "Failed", f"Error: {error.reason}", event_type=WARNING)

    def backing_off(self, pod: Plain, name: str) -> None:
        """Record that a container waits for its restart."""
        involved, _ = _container(pod, name)
        if involved is not None:
            message = f"Back-off restarting failed container {name} in pod {pod_label(pod)}"
            self._kubelet.record(involved, "BackOff", message, event_type=WARNING)

    def evicted(self, pod: Plain, message: str) -> None:
        """Record that the kubelet evicted a pod."""
        self._kubelet.record(reference_to(pod, *_POD), "Evicted", message, event_type=WARNING)

    def node_registered(self, node: Plain, *, by_kubelet_alone: bool) -> None:
        """Record that a node was registered and is ready."""
        uid, name = text(metadata(node), "uid"), text(metadata(node), "name")
        # A kubelet does not know the uid of its node, and uses the name instead.
        involved: Plain = {"kind": "Node", "name": name, "apiVersion": "v1"}
        self._kubelet.record(involved, "NodeReady", f"Node {name} status is now: NodeReady", host=name)
        if by_kubelet_alone:
            return
        message = f"Node {name} event: Registered Node {name} in Controller"
        self._node_controller.record({**involved, "uid": uid}, "RegisteredNode", message)


def _container(pod: Plain, name: str) -> tuple[Plain | None, str]:
    """Return the reference to a container, and its image; None if the pod has no such container."""
    kind, container = find_container(pod, name)
    if not kind:
        return None, ""
    return reference_to(pod, *_POD, field_path=f"spec.{kind}{{{name}}}"), text(container, "image")
