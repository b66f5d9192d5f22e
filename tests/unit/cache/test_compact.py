"""ObjectStorage objects compressed: how small, when a dictionary is learnt, and from which threads."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from benchmarks.harness.pods import generate

from masthead._cache.store.compact import Compact
from masthead.api.core.v1 import ConfigMap, Pod, PodList
from masthead.errors import DecodeError

FIRST = 200
"""After how many objects the first dictionary is made."""


@pytest.fixture(scope="module")
def pods() -> list[Pod]:
    return PodList.from_wire(generate(1000)).items


def size(stored: object) -> int:
    return len(cast("bytes", stored))


def config_map(number: int, words: str) -> ConfigMap:
    return ConfigMap.from_dict(
        {
            "metadata": {"name": f"{words}-{number}", "namespace": words, "resourceVersion": str(number)},
            "data": {f"{words}-{index}": f"{words * 5} {index * 7919} {words}" for index in range(20)},
        }
    )


def test_a_pod_takes_400_bytes_once_enough_others_are_stored(pods: list[Pod]) -> None:
    storage = Compact(Pod)
    stored = [storage.pack(pod) for pod in pods[:FIRST]]
    assert storage.wait_trained()
    stored += [storage.pack(pod) for pod in pods[FIRST:]]
    assert max(map(size, stored[FIRST:])) < 600
    assert sum(map(size, stored[FIRST:])) / len(stored[FIRST:]) < 420
    assert [storage.unpack(packed).wire_bytes for packed in stored] == [pod.wire_bytes for pod in pods]


def test_after_recompression_the_first_objects_are_as_small_as_the_rest(pods: list[Pod]) -> None:
    storage = Compact(Pod)
    items = {pod.key: storage.pack(pod) for pod in pods}
    before = dict(items)
    storage.repack(items)
    assert list(items) == list(before)
    assert max(map(size, items.values())) < 600
    assert [storage.unpack(item).wire_bytes for item in items.values()] == [pod.wire_bytes for pod in pods]
    assert [storage.version(item) for item in items.values()] == [pod.metadata.resource_version for pod in pods]
    # What others still hold from before can be opened as well.
    assert [storage.unpack(packed).wire_bytes for packed in before.values()] == [pod.wire_bytes for pod in pods]


def test_objects_that_arrive_by_namespace_are_small_after_recompression() -> None:
    everything = [config_map(number, word) for word in ("apple", "birch", "cedar") for number in range(300)]
    storage = Compact(ConfigMap)
    items = {obj.key: storage.pack(obj) for obj in everything}
    unlike_the_first = sum(size(items[f"cedar/cedar-{number}"]) for number in range(300))
    storage.repack(items)
    assert sum(size(items[f"cedar/cedar-{number}"]) for number in range(300)) < unlike_the_first * 0.75
    assert [storage.unpack(item) for item in items.values()] == everything


def test_recompressing_twice_changes_nothing(pods: list[Pod]) -> None:
    storage = Compact(Pod)
    items = {pod.key: storage.pack(pod) for pod in pods}
    storage.repack(items)
    once = dict(items)
    storage.repack(items)
    assert all(items[key] is once[key] for key in once)


def test_few_objects_are_not_recompressed(pods: list[Pod]) -> None:
    storage = Compact(Pod)
    items = {pod.key: storage.pack(pod) for pod in pods[:10]}
    once = dict(items)
    storage.repack(items)
    assert items == once
    storage.repack({})


def test_the_same_value_loaded_twice_is_the_same_object(pods: list[Pod]) -> None:
    storage = Compact(Pod)
    stored = storage.pack(pods[0])
    assert storage.unpack(stored) is storage.unpack(stored)


def test_decoded_objects_are_evicted_by_number(pods: list[Pod]) -> None:
    storage = Compact(Pod)
    stored = [storage.pack(pod) for pod in pods]
    first = storage.unpack(stored[0])
    for packed in stored[1:]:
        storage.unpack(packed)
    assert storage.unpack(stored[0]) is not first
    assert storage.unpack(stored[0]) == first


def large(number: int, size: int) -> ConfigMap:
    text = f"{number * 7919} is not {number}, " * (size // 20)
    return ConfigMap.from_dict(
        {
            "metadata": {"name": f"large-{number}", "resourceVersion": str(number)},
            "data": {"text": text[:size]},
        }
    )


def came(obj: ConfigMap) -> ConfigMap:
    return ConfigMap.from_wire(obj.to_json())


def test_large_decoded_objects_are_evicted_by_size() -> None:
    storage = Compact(ConfigMap)
    objects = [came(large(number, 1_000_000)) for number in range(20)]
    stored = [storage.pack(obj) for obj in objects]
    assert storage.unpack(stored[-1]) is objects[-1]
    assert storage.unpack(stored[0]) is not objects[0]
    assert storage.unpack(stored[0]) == objects[0]
    huge = came(large(99, 10_000_000))
    assert storage.unpack(storage.pack(huge)) is huge  # at least one can be read twice


def test_frequently_read_objects_stay_decoded_longer(pods: list[Pod]) -> None:
    storage = Compact(Pod)
    stored = [storage.pack(pod) for pod in pods]
    wanted = storage.unpack(stored[0])
    for packed in stored[1:]:
        storage.unpack(packed)
        assert storage.unpack(stored[0]) is wanted


def test_large_objects_cost_little_more_than_their_stored_bytes() -> None:
    storage = Compact(ConfigMap)
    tracemalloc.start()
    try:
        stored = [storage.pack(came(large(number, 500_000))) for number in range(100)]
        beside = tracemalloc.get_traced_memory()[0] - sum(map(size, stored))
    finally:
        tracemalloc.stop()
    assert beside < 20_000_000


def test_large_objects_are_recompressed_in_more_steps() -> None:
    storage = Compact(ConfigMap)
    items = {obj.key: storage.pack(obj) for obj in (came(large(number, 40_000)) for number in range(400))}
    before = dict(items)
    assert sum(1 for _ in storage.repack_in_steps(items)) >= 3
    assert items != before
    assert all(storage.unpack(items[key]) == storage.unpack(before[key]) for key in items)


def test_objects_that_have_nothing_in_common_can_be_stored_too() -> None:
    storage = Compact(ConfigMap)
    made = [ConfigMap.from_dict({"metadata": {"name": chr(0x4E00 + n)}}) for n in range(2 * FIRST)]
    items = {obj.key: storage.pack(obj) for obj in made}
    storage.repack(items)
    assert [storage.unpack(item) for item in items.values()] == made


def test_a_resource_version_that_would_break_the_layout_is_rejected() -> None:
    pod = Pod.from_wire(b'{"metadata":{"name":"a","namespace":"b","resourceVersion":"1\\u00002"}}')
    with pytest.raises(DecodeError, match=r'Pod "b/a": metadata.resourceVersion: not a version'):
        Compact(Pod).pack(pod)


def test_threads_can_load_while_others_store_and_recompress(pods: list[Pod]) -> None:
    storage = Compact(Pod)
    stored = [storage.pack(pod) for pod in pods[:150]]
    wrong: list[object] = []
    start = threading.Barrier(5)

    def read() -> None:
        start.wait()
        for _ in range(5):
            wrong.extend(
                pod.key
                for pod, packed in zip(pods, list(stored), strict=False)
                if storage.unpack(packed).wire_bytes != pod.wire_bytes
            )

    def repack() -> None:
        start.wait()
        for _ in range(3):
            storage.repack({pod.key: packed for pod, packed in zip(pods, list(stored), strict=False)})

    threads = [threading.Thread(target=read) for _ in range(3)] + [threading.Thread(target=repack)]
    for thread in threads:
        thread.start()
    start.wait()
    stored.extend(map(storage.pack, pods[150:]))
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.slow
def test_a_training_that_another_thread_is_just_starting_is_waited_for(pods: list[Pod]) -> None:
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads meet in the middle of it
    try:
        for _ in range(20):
            storage = Compact(Pod)
            start = threading.Barrier(2)
            stored = {pod.key: storage.pack(pod) for pod in pods[:195]}
            with ThreadPoolExecutor(1) as pool:

                def repack(storage: Compact[Pod] = storage, start: threading.Barrier = start) -> None:
                    start.wait()
                    for _ in range(20):
                        storage.repack({})

                repacking = pool.submit(repack)
                start.wait()
                stored |= {pod.key: storage.pack(pod) for pod in pods[195:205]}
                repacking.result()
            assert storage.wait_trained()
    finally:
        sys.setswitchinterval(switching)


WITHOUT_ZSTANDARD = """
import sys
sys.modules["zstandard"] = None
from masthead.api.core.v1 import Pod
from masthead._cache.store.storage import storage_for
from masthead.errors import ConfigError
storage_for("lazy", Pod), storage_for("eager", Pod)
try:
    storage_for("compact", Pod)
except ConfigError as error:
    print(error)
"""
AS_IT_IS = """
import json, sys
from masthead.api.core.v1 import Pod
from masthead._cache.store.storage import storage_for
storage_for("lazy", Pod)
before = "zstandard" in sys.modules
storage_for("compact", Pod)
print(json.dumps([before, "zstandard" in sys.modules]))
"""


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def test_without_zstandard_the_message_names_the_extra() -> None:
    assert "masthead-k8s[compact]" in run(WITHOUT_ZSTANDARD)


def test_zstandard_is_loaded_only_where_it_is_used() -> None:
    assert json.loads(run(AS_IT_IS)) == [False, True]
