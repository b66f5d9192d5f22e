import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.harness import pods


@pytest.mark.skipif(not pods.SHARED.exists(), reason="the shared generator is not here")
@pytest.mark.parametrize("count", [0, 1, 25, 501])
def test_both_generators_have_equal_encodings_bytes(count: int, tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    subprocess.run([sys.executable, pods.SHARED, str(count), path], check=True)

    assert pods.generate(count) == path.read_bytes()


def test_without_the_shared_generator_ours_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pods, "SHARED", tmp_path / "missing.py")

    assert pods.pod_list(3) == pods.generate(3)


def test_the_same_count_gives_the_same_bytes() -> None:
    assert pods.generate(7) == pods.generate(7)


def test_pods_differ_and_are_of_the_promised_size() -> None:
    data = pods.generate(50)
    items = json.loads(data)["items"]

    assert len({item["metadata"]["uid"] for item in items}) == 50
    assert len({item["metadata"]["name"] for item in items}) == 50
    assert 5_500 < len(data) / 50 < 6_300


def test_one_pod_says_what_it_is() -> None:
    pod = json.loads(pods.one_pod())

    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
    assert pod["spec"]["nodeName"] == "node-0"
