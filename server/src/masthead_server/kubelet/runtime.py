"""The state shared by all endpoints of the kubelet: pods, containers, handlers and ports."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead_server.kubelet.containers import ContainerRef, ContainerTable, RuntimeLimits
from masthead_server.kubelet.filesystem import FileSystem
from masthead_server.kubelet.handlers import HandlerRegistry
from masthead_server.kubelet.pods import check_container, container_of, first_container
from masthead_server.kubelet.ports import Ports
from masthead_server.kubelet.working_dir import WorkingDirError, create_working_dir, working_dir_of
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from datetime import datetime

    from masthead_server.cluster import ClusterState
    from masthead_server.kubelet.container_probe import ProbeHandler
    from masthead_server.kubelet.containers import ContainerInstance
    from masthead_server.kubelet.handlers import Handler
    from masthead_server.kubelet.images import ImagePulls
    from masthead_server.kubelet.volumes import Volumes
    from masthead_server.process_activity import ProcessObserver
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["PodRuntime"]

_PODS: Final = GroupVersionResource("", "v1", "pods")
_MAX_THREADS: Final = 256
"""The maximum number of concurrent plain functions; further ones wait."""


class PodRuntime:
    """Finds pods, containers and handlers. Everything runs in the server's event loop.

    Args:
        cluster: The cluster state.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster
        self.served: ServedResource = cluster.catalog.require(_PODS)
        """The resource of pods."""
        self.limits: RuntimeLimits = RuntimeLimits()
        self.containers: ContainerTable = ContainerTable(self.limits, cluster.clock)
        self.exec_handlers: HandlerRegistry[Handler] = HandlerRegistry()
        self.attach_handlers: HandlerRegistry[Handler] = HandlerRegistry()
        self.main_handlers: HandlerRegistry[Handler] = HandlerRegistry()
        self.probe_handlers: HandlerRegistry[ProbeHandler] = HandlerRegistry()
        self.ports: Ports = Ports()
        """The listeners on the ports of pods and nodes."""
        self._volumes: Volumes | None = None
        self._mounted: tuple[Record, Plain] | None = None
        """The pod whose volumes were mounted last."""
        self.threads: ThreadPoolExecutor = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="masthead-kubelet")
        """The executor of handlers that are plain functions."""

    @cached_property
    def images(self) -> ImagePulls:
        """The absent images."""
        from masthead_server.kubelet.images import ImagePulls  # which servers without pods do not need

        return ImagePulls()

    def observer(self, what: str, ref: ContainerRef) -> ProcessObserver:
        """Return the observer of a process in a container; messages call it by what it is."""
        return self.cluster.process_activity.observer(f"{what} of {ref.namespace}/{ref.pod}, container {ref.container}")

    def now(self) -> datetime:
        """Return the server's time."""
        return self.cluster.clock.now()

    def find(self, namespace: str, name: str) -> Plain:
        """Return a pod.

        Raises:
            StatusFailure: If it does not exist.
        """
        return self.served.load(self.cluster.find(self.served, namespace, name))

    def load(self, namespace: str, name: str) -> Plain | None:
        """Return a pod; None if it does not exist."""
        record = self.cluster.storage.table(self.served.table).get(self.served.key(namespace, name))
        return None if record is None else self.served.load(record)

    def container(self, pod: Plain, name: str) -> ContainerInstance:
        """Return a container of a pod."""
        meta = metadata(pod)
        ref = ContainerRef(text(meta, "namespace"), text(meta, "name"), name)
        container = self.containers.get(ref, is_first=name == first_container(pod))
        container.mount_with(partial(self._mount, ref))
        return container

    def _mount(self, ref: ContainerRef, files: FileSystem) -> None:
        # Few servers have containers that use their files.
        if self._volumes is None:
            from masthead_server.kubelet.volumes import Volumes

            self._volumes = Volumes(self.cluster, self._new_files, self.load)
        pod = self._load_mounted(ref.namespace, ref.pod)
        spec = container_of(pod, ref.container)
        if spec is not None:
            self._volumes.mount(pod, spec, files)
        if pod:
            from masthead_server.kubelet.host_files import host_files, write_host_files

            # kubeadm gives the tenth address to DNS.
            name_server = self.cluster.allocations.network.network_address + 10
            write_host_files(files, host_files(pod, str(name_server)))
        # A container that cannot have the directory reports that at its start.
        with suppress(WorkingDirError):
            create_working_dir(files, working_dir_of(spec or {}))

    def _load_mounted(self, namespace: str, name: str) -> Plain:
        """Return a pod, which must not be changed; empty if it does not exist."""
        record = self.cluster.storage.table(self.served.table).get(self.served.key(namespace, name))
        if record is None:
            return {}
        # The containers of a pod mount one after the other, and decoding a pod of many containers is expensive.
        if self._mounted is None or self._mounted[0] is not record:
            self._mounted = record, self.served.load(record)
        return self._mounted[1]

    def _new_files(self) -> FileSystem:
        return FileSystem(self.limits.files, lambda: self.cluster.clock.now().timestamp(), ())

    def resolve(self, ref: ContainerRef) -> ContainerInstance:
        """Return a container by name, or the first one of a pod, which need not exist yet.

        Raises:
            ArgumentError: If the pod exists, and has no such container.
        """
        pod = self.load(ref.namespace, ref.pod)
        if pod is None:
            return self.containers.get(ref)
        check_container(pod, ref.container)
        return self.container(pod, ref.container or first_container(pod))

    def observe(self, _served: ServedResource, record: Record) -> None:
        """Observe a write to a pod: the deletion ends its containers."""
        namespace, name = self.served.split(record.key)
        if record.is_deleted:
            self.containers.drop_pod(namespace, name)
        if self._volumes is not None:
            self._volumes.on_pod(namespace, name, is_deleted=record.is_deleted)

    def close(self) -> None:
        """End all containers; plain functions that run find their streams closed."""
        self.ports.stop()
        self.containers.close()
        if self._volumes is not None:
            self._volumes.close()
        self.threads.shutdown(wait=False, cancel_futures=True)
