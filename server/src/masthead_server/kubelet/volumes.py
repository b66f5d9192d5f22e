"""The volumes of pods, as directories in the file systems of their containers."""

from __future__ import annotations

import errno
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.environment import ContainerConfigError, environment_of, expand, missing_references
from masthead_server.kubelet.filesystem import Directory, FileSystem, Symlink, normalize
from masthead_server.kubelet.pods import container_of
from masthead_server.kubelet.volume_contents import contents_of, shows_fields, shows_objects, sources_of
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead_server.cluster import ClusterState
    from masthead_server.kubelet.filesystem import RegularFile
    from masthead_server.kubelet.volume_contents import VolumeFile
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["Volumes", "check_sub_paths"]

_CLAIMS: Final = "persistentvolumeclaims"
_SOURCES: Final = ("configmaps", "secrets")


class Volumes:
    """Creates the volumes of pods when a container first needs its files, and updates their contents.

    An emptyDir lasts as long as its pod, the files of a claim as long as the claim, and a hostPath as long as the
    server. Volumes of other types are empty directories of the pod.

    Args:
        cluster: The cluster state.
        new_files: Makes an empty file system.
        load_pod: Loads a pod; None if it does not exist.
    """

    def __init__(
        self,
        cluster: ClusterState,
        new_files: Callable[[], FileSystem],
        load_pod: Callable[[str, str], Plain | None],
    ) -> None:
        self._cluster = cluster
        self._new_files = new_files
        self._load_pod = load_pod
        self._of_pods: dict[tuple[str, str], dict[str, FileSystem]] = {}
        self._of_claims: dict[str, FileSystem] = {}
        self._of_nodes: dict[str, FileSystem] = {}
        self._shown: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        """The pods that mount a ConfigMap or Secret, by its table and key."""
        for table in _SOURCES:
            cluster.observe(table, self._on_source)
        cluster.observe(_CLAIMS, self._on_claim)

    def mount(self, pod: Plain, spec: Plain, files: FileSystem) -> None:
        """Mount the volumes of a container into its file system."""
        volumes = {text(volume, "name"): volume for volume in items(part(pod, "spec"), "volumes")}
        # Parents first: a volume may be mounted within another.
        for mount in sorted(items(spec, "volumeMounts"), key=lambda found: len(text(found, "mountPath"))):
            volume = volumes.get(text(mount, "name"))
            path = normalize(text(mount, "mountPath"))
            if volume is None or path == "/":
                continue
            try:
                source, base = self._source(pod, volume)
                node = _node_at(source, normalize(f"{base}/{self._sub_path(pod, spec, mount)}"))
                files.mount(path, node, is_read_only=bool(mount.get("readOnly")))
            except (OSError, ContainerConfigError):
                continue  # a container with such a mount has not been started

    def _sub_path(self, pod: Plain, spec: Plain, mount: Plain) -> str:
        if not mount.get("subPathExpr"):
            return text(mount, "subPath")
        return _expand(mount, environment_of(self._cluster, pod, text(spec, "name")))

    def _source(self, pod: Plain, volume: Plain) -> tuple[FileSystem, str]:
        """Return the file system of a volume, and the mounted directory in it."""
        if "hostPath" in volume:
            node = text(part(pod, "spec"), "nodeName")
            return self._host(node), normalize(text(part(volume, "hostPath"), "path"))
        if claim := _claim_of(pod, volume):
            if claim not in self._of_claims:
                self._of_claims[claim] = self._new_files()
            return self._of_claims[claim], "/"
        return self._own(pod, volume), "/"

    def _host(self, node: str) -> FileSystem:
        if node not in self._of_nodes:
            self._of_nodes[node] = self._new_files()
        return self._of_nodes[node]

    def _own(self, pod: Plain, volume: Plain) -> FileSystem:
        meta, name = metadata(pod), text(volume, "name")
        key = text(meta, "namespace"), text(meta, "name")
        own = self._of_pods.setdefault(key, {})
        if name not in own:
            own[name] = self._new_files()
            if shows_objects(volume):
                _fill(own[name], contents_of(self._cluster, pod, volume))
                for table, source in sources_of(volume):
                    self._shown[table, f"{key[0]}/{source}"].add(key)
        return own[name]

    def _on_source(self, served: ServedResource, record: Record) -> None:
        for key in tuple(self._shown.get((served.table, record.key), ())):
            self._refresh(key, shows_objects)

    def _on_claim(self, _served: ServedResource, record: Record) -> None:
        if record.is_deleted and (files := self._of_claims.pop(record.key, None)):
            files.close()

    def on_pod(self, namespace: str, name: str, *, is_deleted: bool) -> None:
        """Observe a write to a pod."""
        key = (namespace, name)
        if key not in self._of_pods:
            return
        if not is_deleted:
            self._refresh(key, shows_fields)
            return
        for files in self._of_pods.pop(key).values():
            files.close()
        for source in [source for source, pods in self._shown.items() if key in pods]:
            self._shown[source].discard(key)
            if not self._shown[source]:
                del self._shown[source]

    def _refresh(self, key: tuple[str, str], is_concerned: Callable[[Plain], bool]) -> None:
        pod, own = self._load_pod(*key), self._of_pods[key]
        for volume in items(part(pod or {}, "spec"), "volumes"):
            files = own.get(text(volume, "name"))
            if pod is not None and files is not None and is_concerned(volume):
                _fill(files, contents_of(self._cluster, pod, volume))

    def close(self) -> None:
        """Drop all volumes."""
        own = [files for volumes in self._of_pods.values() for files in volumes.values()]
        for files in (*own, *self._of_claims.values(), *self._of_nodes.values()):
            files.close()
        for table in (self._of_pods, self._of_claims, self._of_nodes, self._shown):
            table.clear()


def check_sub_paths(cluster: ClusterState, pod: Plain, container: str) -> None:
    """Check the paths within volumes that follow from the environment of a container.

    Raises:
        ContainerConfigError: If a variable has no value, or a path leaves its volume.
    """
    mounts = [mount for mount in items(container_of(pod, container) or {}, "volumeMounts") if mount.get("subPathExpr")]
    if not mounts:
        return
    env = environment_of(cluster, pod, container)
    for mount in mounts:
        path = _expand(mount, env)
        if path.startswith("/"):
            raise ContainerConfigError(f"error SubPath `{path}` must not be an absolute path")
        if ".." in path.split("/"):
            raise ContainerConfigError(f"unable to provision SubPath `{path}`: must not contain '..'")


def _expand(mount: Plain, env: Mapping[str, str]) -> str:
    expression = text(mount, "subPathExpr")
    if missing := missing_references(expression, env):
        raise ContainerConfigError(f"missing value for {', '.join(missing)}")
    return expand(expression, env)


def _claim_of(pod: Plain, volume: Plain) -> str:
    namespace = text(metadata(pod), "namespace")
    if "persistentVolumeClaim" in volume:
        return f"{namespace}/{text(part(volume, 'persistentVolumeClaim'), 'claimName')}"
    if "ephemeral" in volume:
        return f"{namespace}/{text(metadata(pod), 'name')}-{text(volume, 'name')}"
    return ""


def _node_at(files: FileSystem, path: str) -> Directory | RegularFile:
    """Return the node at a path of a volume; create a missing directory.

    Raises:
        OSError: If a part of the path is not a directory, or if the volume is read-only.
    """
    try:
        node = files.get(path)
    except FileNotFoundError:
        files.make_directory(path, parents=True)
        return files.directory(path)
    if isinstance(node, Symlink):
        raise OSError(errno.ELOOP, path)
    return node


def _fill(files: FileSystem, contents: Mapping[str, VolumeFile]) -> None:
    """Replace the files of a volume; unchanged ones remain the same files."""
    files.is_read_only = False
    for path, node in list(files.walk()):
        if not isinstance(node, Directory) and path.lstrip("/") not in contents:
            files.remove(path)
    for path, wanted in contents.items():
        absolute = normalize(path)
        folder = absolute.rpartition("/")[0]
        if folder:
            files.make_directory(folder, parents=True)
        file = files.create(absolute, truncate=False)
        if file.size != len(wanted.content) or file.read(0, file.size) != wanted.content:
            file.truncate()
            file.append(wanted.content)
        file.mode = wanted.mode
    files.is_read_only = True
