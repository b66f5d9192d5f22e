"""Defaults of pod specs and pod templates."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import AMOUNTS, for_each, round_up, shape
from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain

_FILE_MODE: Final = 0o644
_WORD: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_IMAGE: Final = re.compile(
    rf"(?:(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?"
    rf"{_WORD}(?:/{_WORD})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_MAX_IMAGE_LENGTH: Final = 1024
"""Length limit of an image's name."""


def pull_policy(image: str) -> str:
    """Say when an image is pulled: always if it may have changed, which is what no tag or ``latest`` means."""
    return _known_policy(image) if len(image) <= _MAX_IMAGE_LENGTH else "IfNotPresent"


@lru_cache(maxsize=1024)
def _known_policy(image: str) -> str:
    match = _IMAGE.fullmatch(image)
    if match is None:
        return "IfNotPresent"
    # A digest pins the content, whatever the tag.
    moving = match["tag"] == "latest" or (match["tag"] is None and match["digest"] is None)
    return "Always" if moving else "IfNotPresent"


def _fill_pull_policy(container: Plain) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(text(container, "image"))


def _fill_image_volume(image: Plain) -> None:
    if not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(text(image, "reference"))


_HTTP_GET: Final = shape(blank={"path": "/", "scheme": "HTTP"})
_PROBE: Final = shape(
    blank={"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    inside={"httpGet": _HTTP_GET, "grpc": shape(unset={"service": ""})},
)
_HANDLER: Final = shape(inside={"httpGet": _HTTP_GET})
_FIELD_REFS: Final = shape(
    inside={
        "fieldRef": shape(blank={"apiVersion": "v1"}),
        "fileKeyRef": shape(unset={"optional": False}),
        "resourceFieldRef": shape(blank={"divisor": "0"}),
    }
)
CONTAINER: Final = shape(
    blank={"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
    inside={
        "ports": for_each(shape(blank={"protocol": "TCP"})),
        "env": for_each(shape(inside={"valueFrom": _FIELD_REFS})),
        "resources": AMOUNTS,
        "livenessProbe": _PROBE,
        "readinessProbe": _PROBE,
        "startupProbe": _PROBE,
        "lifecycle": shape(inside={"postStart": _HANDLER, "preStop": _HANDLER}),
    },
    then=_fill_pull_policy,
)
"""A container of any sort."""
_RBD: Final = shape(blank={"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"})
CLAIM_SPEC: Final = shape(unset={"volumeMode": "Filesystem"}, inside={"resources": AMOUNTS})
"""What a claim of storage asks for."""
_DOWNWARD: Final = {"items": for_each(_FIELD_REFS)}
_PROJECTION: Final = shape(
    inside={
        "downwardAPI": shape(inside=_DOWNWARD),
        "serviceAccountToken": shape(unset={"expirationSeconds": 3600}),
    }
)
_IN_MODE: Final = {"defaultMode": _FILE_MODE}
STORAGE: Final[dict[str, Fill]] = {
    "hostPath": shape(unset={"type": ""}),
    "rbd": _RBD,
    "iscsi": shape(blank={"iscsiInterface": "default"}),
    "azureDisk": shape(unset={"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}),
    "scaleIO": shape(blank={"storageMode": "ThinProvisioned", "fsType": "xfs"}),
}
"""Sources of storage that pods and persistent volumes have in common."""


def _fill_source(volume: Plain) -> None:
    for key, value in volume.items():
        # A volume has exactly one source; an empty directory is the oldest default.
        if value is not None and key != "name":
            return
    volume["emptyDir"] = {}


_VOLUME: Final = shape(
    inside={
        **STORAGE,
        "secret": shape(unset=_IN_MODE),
        "configMap": shape(unset=_IN_MODE),
        "downwardAPI": shape(unset=_IN_MODE, inside=_DOWNWARD),
        "projected": shape(unset=_IN_MODE, inside={"sources": for_each(_PROJECTION)}),
        "image": _fill_image_volume,
        "ephemeral": shape(inside={"volumeClaimTemplate": shape(always={"spec": CLAIM_SPEC})}),
    },
    then=_fill_source,
)


def _fill_account(spec: Plain) -> None:
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        # The old field is still written, with the value of the new one, which wins.
        spec["serviceAccountName"] = spec["serviceAccount"] = account


POD_SPEC: Final = shape(
    blank={"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"},
    unset={"terminationGracePeriodSeconds": 30, "securityContext": {}},
    inside={
        "volumes": for_each(_VOLUME),
        "initContainers": for_each(CONTAINER),
        "containers": for_each(CONTAINER),
        "ephemeralContainers": for_each(CONTAINER),
        "overhead": round_up,
        "resources": AMOUNTS,
    },
    then=_fill_account,
)
"""What a pod or its template asks for."""
TEMPLATE: Final = shape(always={"spec": POD_SPEC})
"""A template of pods."""
