"""The work: a PodList of any number of realistic pods, about 5.9 KB of JSON each.

The same number gives the same bytes, wherever they come from: from the generator that is shared between projects,
where it is present, and otherwise from the one here.
"""

from __future__ import annotations

import json
import random
import string
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Final

SHARED: Final = Path(__file__).parents[2] / "shared" / "bench" / "make_pods.py"
"""The generator beside the repository."""
_TEMPLATE: Final = Path(__file__).with_name("pod.json")


def pod_list(count: int) -> bytes:
    """Make a PodList with the shared generator if it is there, and with our own otherwise."""
    return _shared(count) if SHARED.exists() else generate(count)


def generate(count: int) -> bytes:
    """Make a PodList with our own generator."""
    template = string.Template(_compact(_TEMPLATE.read_text(encoding="utf-8")))
    rng = random.Random(1)
    items = ",".join(template.substitute(_values(index, rng)) for index in range(count))
    metadata = _compact(json.dumps({"resourceVersion": str(2000 + count)}))
    return f'{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":[{items}]}}'.encode()


def one_pod() -> bytes:
    """Make a pod as a server answers it when asked for one: with its kind."""
    [pod] = json.loads(pod_list(1))["items"]
    return json.dumps({"kind": "Pod", "apiVersion": "v1", **pod}, separators=(",", ":")).encode()


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
