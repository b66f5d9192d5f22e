"""Volumes: the StorageClass ``standard``, and the provisioner of folders on nodes behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import yaml
from masthead_server.profiles.kind.facts import (
    CONTROL_PLANE_LABEL,
    KUBECTL,
    PROVISIONER_HELPER_IMAGE,
    PROVISIONER_IMAGE,
)
from masthead_server.profiles.kind.manifests import cluster_binding, cluster_role, config_map, service_account
from masthead_server.profiles.profile import ProfileObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = ["storage_objects"]

_NAMESPACE: Final = "local-path-storage"
_NAME: Final = "local-path-provisioner"
_ACCOUNT: Final = "local-path-provisioner-service-account"
_CONFIG: Final = "local-path-config"
_FOLDER: Final = "/var/local-path-provisioner"
_RULES: Final = (
    "get list watch | core | nodes persistentvolumeclaims configmaps",
    "* | core | endpoints persistentvolumes pods",
    "create patch | core | events",
    "get list watch | storage.k8s.io | storageclasses",
)


def storage_objects() -> Iterator[ProfileObject]:
    """Yield the StorageClass, and the provisioner with its namespace."""
    yield ProfileObject("namespaces", {"metadata": {"name": _NAMESPACE}}, KUBECTL)
    yield service_account(_ACCOUNT, KUBECTL, _NAMESPACE)
    role = "local-path-provisioner-role"
    yield cluster_role(role, _RULES, KUBECTL)
    yield cluster_binding("local-path-provisioner-bind", role, f"ServiceAccount {_ACCOUNT}", KUBECTL, _NAMESPACE)
    yield config_map(_CONFIG, _configuration(), KUBECTL, _NAMESPACE)
    yield ProfileObject("apps/deployments", _deployment(), KUBECTL)
    yield ProfileObject("storage.k8s.io/storageclasses", _storage_class(), KUBECTL)


def _storage_class() -> Plain:
    return {
        "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "rancher.io/local-path",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _deployment() -> Plain:
    labels = {"app": _NAME}
    container = {
        "name": _NAME,
        "image": PROVISIONER_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": [
            _NAME,
            "--debug",
            "start",
            "--helper-image",
            PROVISIONER_HELPER_IMAGE,
            "--config",
            "/etc/config/config.json",
        ],
        "env": [
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "CONFIG_MOUNT_PATH", "value": "/etc/config/"},
        ],
        "volumeMounts": [{"mountPath": "/etc/config/", "name": "config-volume"}],
    }
    pod = {
        "containers": [container],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "serviceAccountName": _ACCOUNT,
        "tolerations": [{"key": CONTROL_PLANE_LABEL, "operator": "Equal", "effect": "NoSchedule"}],
        "volumes": [{"name": "config-volume", "configMap": {"name": _CONFIG}}],
    }
    return {
        "metadata": {"name": _NAME, "namespace": _NAMESPACE},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _configuration() -> dict[str, str]:
    paths = {"nodePathMap": [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [_FOLDER]}]}
    container = {"name": "helper-pod", "image": PROVISIONER_HELPER_IMAGE, "imagePullPolicy": "IfNotPresent"}
    helper = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "helper-pod"},
        "spec": {"containers": [container]},
    }
    return {
        "config.json": msgspec.json.format(msgspec.json.encode(paths), indent=4).decode(),
        "helperPod.yaml": yaml.dump(helper),
        "setup": '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n',
        "teardown": '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n',
    }
