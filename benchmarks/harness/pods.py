"""The work: a PodList of any number of realistic pods, about 5.9 KB of JSON each.

The same number gives the same bytes, wherever they come from: from the generator that is shared between projects,
where it is present, and otherwise from the one here.
"""

from __future__ import annotations

import functools
import json
import random
import string
import subprocess
import sys
import tempfile
import uuid
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED: Final = Path(__file__).parents[3] / "shared" / "bench" / "make_pods.py"
"""The generator beside the repository."""
_TEMPLATE: Final = Path(__file__).with_name("pod.json")
_FROM_SERVERS: Final = ("uid", "resourceVersion", "creationTimestamp", "generateName", "managedFields")
"""Metadata that a pod to be created does not have."""


def pod_list(count: int) -> bytes:
    """Make a PodList with the shared generator if it is there, and with our own otherwise."""
    return _shared(count) if SHARED.exists() else generate(count)


def generate(count: int) -> bytes:
    """Make a PodList with our own generator."""
    items = ",".join(texts(count))
    metadata = _compact(json.dumps({"resourceVersion": str(2000 + count)}))
    return f'{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":[{items}]}}'.encode()


def texts(count: int) -> Iterator[str]:
    """Make the same pods one by one, each as it stands in the list."""
    template = string.Template(_compact(_TEMPLATE.read_text(encoding="utf-8")))
    rng = random.Random(1)
    return (template.substitute(_values(index, rng)) for index in range(count))


def one_pod() -> bytes:
    """Make a pod as a server returns a single one: with its kind."""
    [pod] = json.loads(pod_list(1))["items"]
    return json.dumps({"kind": "Pod", "apiVersion": "v1", **pod}, separators=(",", ":")).encode()


def new_pod(namespace: str, name: str, serial: int) -> bytes:
    """Make a pod as a client writes it, about 3 KB, of one of a hundred templates, which differ in their image.

    Two pods of one template differ in their name and, as an annotation, in their serial number. Making many is cheap:
    the rest is written once.
    """
    template = b"%02d" % (zlib.crc32(name.encode()) % 100)
    return _new_pod_in(namespace) % {
        b"name": name.encode(),
        b"serial": b"%08d" % serial,
        b"template": template,
    }


@functools.cache
def _new_pod_in(namespace: str) -> bytes:
    """The text of a new pod with places for what differs."""
    pod = json.loads(next(texts(1)))
    meta = {key: value for key, value in pod["metadata"].items() if key not in _FROM_SERVERS}
    meta |= {"name": "\0name", "namespace": namespace}
    meta["annotations"] |= {"benchmark/serial": "\0serial"}
    pod["spec"]["containers"][0]["image"] += "\0template"
    # Only the default account exists, and only some of the servers add the volume of a token.
    account = {"serviceAccount": "default", "serviceAccountName": "default", "automountServiceAccountToken": False}
    pod["spec"] |= account
    new = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": pod["spec"]}
    text = json.dumps(new, separators=(",", ":")).replace("%", "%%")
    for place in ("name", "serial", "template"):
        text = text.replace(f"\\u0000{place}", f"%({place})b")
    return text.encode()


def _shared(count: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pods.json"
        subprocess.run([sys.executable, SHARED, str(count), path], check=True)
        return path.read_bytes()


def _compact(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"))


def _values(index: int, rng: random.Random) -> dict[str, object]:
    """What the pods differ in; the order of the random ones counts."""
    return {
        "app": f"svc-{index % 400}",
        "team": f"team-{index % 50}",
        "node": f"node-{index % 500}",
        "digest": f"{index:010x}"[-10:],
        "serial": f"{index % 99_999:05d}",
        "version": 1000 + index,
        "minor": index % 30,
        "owner": uuid.UUID(int=index),
        "host_ip": f"10.0.{index % 250}.{index % 200}",
        "pod_ip": f"10.{index % 200}.{index % 250}.{index % 240}",
        "uid": uuid.UUID(int=rng.getrandbits(128)),
        "checksum": _sha256(rng),
        "main_image": _sha256(rng),
        "main_container": _sha256(rng),
        "sidecar_image": _sha256(rng),
        "sidecar_container": _sha256(rng),
    }


def _sha256(rng: random.Random) -> str:
    return f"{rng.getrandbits(256):064x}"
