"""The store while it is written to: readers that come in at every step, and readers in threads of their own."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from threading import Barrier, Event
from typing import TYPE_CHECKING, Any

import pytest

from masthead._sansio import slices, store_indices
from masthead._sansio import store as store_module
from masthead._sansio.store import IndexedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType


@dataclass(frozen=True)
class Pod:
    name: str
    node: str = ""
    labels: tuple[str, ...] = ()
    generation: int = 0


def node_of(pod: Pod) -> list[str]:
    return [pod.node]


def labels_of(pod: Pod) -> Iterable[str]:
    return pod.labels


def name_of(pod: Pod) -> list[str]:
    return [pod.name]


def store_of(*pods: Pod, scope: str = "") -> IndexedStore[Pod, Pod]:
    store: IndexedStore[Pod, Pod] = IndexedStore(
        {"node": node_of, "label": labels_of, "name": name_of}, opened=lambda pod: pod
    )
    for pod in pods:
        store.put(pod.name, pod, scope=scope)
    return store


_STORE_FILES = {module.__file__ for module in (slices, store_indices, store_module)}
WEB = Pod("web", "n1", ("a", "b"))
JOB = Pod("job", "n2", ("b",))
NODES_OF = {"x": "n1", "y": "n1", "z": "n2", "u": "n2"}


def between_steps(run: Callable[[], object], meanwhile: Callable[[], object]) -> int:
    """Run something, and something else before each instruction of the store's that it takes.

    This is what another thread could do, at every place where one could come in. Returns how many places there were.
    """
    places = 0

    def trace(frame: FrameType, event: str, _arg: object) -> Callable[..., Any] | None:
        nonlocal places
        if frame.f_code.co_filename not in _STORE_FILES:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            places += 1
            meanwhile()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return places


class TestEveryStep:
    """Reads in the middle of a write, and writes in the middle of a read."""

    @pytest.mark.parametrize("scope", ["", "a"])
    def test_a_replace_is_all_or_nothing(self, scope: str) -> None:
        store = store_of(WEB, JOB, scope=scope)
        store.put("b/other", Pod("other", "n1"), scope="b")
        old, new = ["b/other", "job", "web"], ["b/other", "web"]
        seen: list[list[str]] = []

        def read() -> None:
            keys = sorted(store.keys())
            assert keys in (old, new)
            assert store.index_keys("node", "n1") == ["b/other", "web"]
            if store.version_of(scope):
                # A version is visible no sooner than its objects.
                assert keys == new
                assert store.index_values("node") == ["n1"]
            seen.append(keys)

        assert between_steps(lambda: store.replace({"web": WEB}, "2", scope=scope), read)
        assert seen == sorted(seen, key=[old, new].index)

    def test_the_first_list_of_a_scope_is_all_or_nothing_for_each_read(self) -> None:
        store = store_of()
        store.put("b/other", Pod("other", "n1", ("b",)), scope="b")
        coming = {f"a/{name}": Pod(name, NODES_OF[name], ("a", "b")) for name in NODES_OF}
        looks: dict[str, Callable[[], list[str]]] = {
            "keys": lambda: sorted(store.keys()),
            "values": lambda: sorted(pod.name for pod in store.values()),
            "node n1": lambda: store.index_keys("node", "n1"),
            "node n2": lambda: store.index_keys("node", "n2"),
            "label b": lambda: sorted(pod.name for pod in store.by_index("label", "b")),
            "nodes": lambda: sorted(store.index_values("node")),
            "names": lambda: sorted(store.index_values("name")),
        }
        seen: dict[str, list[list[str]]] = {name: [] for name in looks}

        def read() -> None:
            is_known = bool(store.version_of("a"))
            for name, look in looks.items():
                found = look()
                if seen[name][-1:] != [found]:
                    # A version is visible no sooner than its objects.
                    assert not is_known
                    seen[name].append(found)
            assert all(store.get(key) is not None for key in store.index_keys("label", "a"))

        assert between_steps(lambda: store.replace(coming, "2", scope="a"), read)
        assert seen["keys"] == [["b/other"], sorted(["b/other", *coming])]
        assert seen["node n1"] == [["b/other"], ["a/x", "a/y", "b/other"]]
        assert seen["nodes"] == [["n1"], ["n1", "n2"]]
        assert {len(found) for found in seen.values()} == {2}

    @pytest.mark.parametrize("is_first", [True, False], ids=["its first list", "a later one"])
    def test_the_cost_of_replacing_a_scope_does_not_depend_on_the_number_of_others(self, is_first: bool) -> None:
        def steps(others: int) -> int:
            store = store_of()
            for number in range(others):
                store.put(f"b/{number}", Pod(f"b{number}", f"node-{number}"), scope=f"b{number}")
            if not is_first:
                store.replace({"a/x": WEB, "a/y": JOB}, "1", scope="a")
            return between_steps(lambda: store.replace({"a/x": WEB}, "2", scope="a"), lambda: None)

        assert steps(2) == steps(200)

    def test_an_object_that_moves_is_always_in_a_bucket(self) -> None:
        store = store_of(WEB, JOB)
        moved = Pod("web", "n2")

        def read() -> None:
            buckets = {node: store.by_index("node", node) for node in ("n1", "n2")}
            assert WEB in buckets["n1"] or moved in buckets["n2"]
            assert all(pod.node == node for node, pods in buckets.items() for pod in pods)
            if store.version:
                assert store.get("web") is moved
                assert buckets == {"n1": [], "n2": [JOB, moved]}

        assert between_steps(lambda: store.put("web", moved, version="2"), read)

    def test_an_index_returns_only_stored_objects(self) -> None:
        store = store_of(JOB)

        def read() -> None:
            for pod in [*store.by_index("node", "n1"), *store.by_index("label", "a")]:
                assert store.get(pod.name) is pod

        assert between_steps(lambda: store.put("web", WEB), read)
        assert between_steps(lambda: store.remove("web"), read)

    def test_a_new_index_is_visible_only_when_it_is_complete(self) -> None:
        store = store_of(WEB, JOB)

        def read() -> None:
            if store.has_index("late"):
                assert sorted(store.index_values("late")) == ["n1", "n2"]

        assert between_steps(lambda: store.add_indexers({"late": node_of}), read)

    @pytest.mark.parametrize(
        "read",
        [
            lambda store: store.keys(),
            lambda store: [pod.name for pod in store.values()],
            lambda store: [key for key, pod in store.items() if key == pod.name],
            lambda store: [pod.name for pod in store.by_index("node", "n1") if pod.node == "n1"],
            lambda store: [pod.name for pod in store.index("label", WEB)],
            lambda store: store.index_keys("node", "n1"),
            lambda store: store.index_values("name"),
            lambda store: ["web"] * (store.get("web") is not None),
            lambda store: ["web"] * ("web" in store) * (len(store) > 0),
            lambda store: ["web"] * store.has_index("node") * len(store.indexers),
            lambda store: ["web"] * (store.version.isdigit() and store.version_of("a").isdigit()),
        ],
    )
    @pytest.mark.parametrize("swaps", [False, True], ids=["put and remove", "replace and add_indexers"])
    def test_a_read_survives_any_concurrent_write(
        self, read: Callable[[IndexedStore[Pod, Pod]], list[str]], swaps: bool
    ) -> None:
        store = store_of(WEB, JOB)
        store.set_version("1", scope="a")
        steps = count(2)

        def write() -> None:
            step = next(steps)
            pod = Pod(f"p{step}", "n1", ("a",), step)
            match swaps, step % 2:
                case False, 0:
                    store.put(pod.name, pod, version=str(step), scope=f"s{step}")
                case False, _:
                    store.remove(f"p{step - 1 - 2 * (step % 3)}")
                case True, 0:
                    store.replace({"web": WEB, pod.name: pod}, str(step))
                case _:
                    store.add_indexers({f"node-{step}": node_of})

        found: list[str] = []
        assert between_steps(lambda: found.extend(read(store)), write)
        assert "web" in found


READERS = 3
NAMES = [f"p{number}" for number in range(400)]
NODES = [f"n{number}" for number in range(4)]


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can, so that a few thousand steps meet in every way."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def read_while(write: Callable[[], None], read: Callable[[], None]) -> None:
    """Let readers read until the writer is done; the first error of any of them is raised."""
    begin, is_done = Barrier(READERS + 1), Event()

    def reading() -> None:
        begin.wait()
        while not is_done.is_set():
            read()
        read()

    def writing() -> None:
        begin.wait()
        try:
            write()
        finally:
            is_done.set()

    with ThreadPoolExecutor(READERS + 1) as threads:
        for future in [threads.submit(writing), *(threads.submit(reading) for _ in range(READERS))]:
            future.result()


@pytest.mark.usefixtures("restless")
class TestThreads:
    def test_buckets_stay_correct_under_concurrent_writes(self) -> None:
        store = store_of()

        def write() -> None:
            for step in range(6000):
                name, node = NAMES[step * 7 % 400], NODES[step % 4]
                pod = Pod(name, node, tuple(NODES[: step % 4]), step)
                if step % 500 == 250:
                    store.replace({name: Pod(name, node) for name in NAMES[: step % 400]}, str(step))
                elif step % 5 == 4:
                    store.remove(name, version=str(step))
                else:
                    store.put(name, pod, version=str(step))
                if step % 1000 == 0:
                    store.add_indexers({f"node-{step}": node_of})

        def read() -> None:
            for node in NODES:
                assert {pod.node for pod in store.by_index("node", node)} <= {node}
                assert all(node in pod.labels for pod in store.by_index("label", node))
                keys = store.index_keys("node", node)
                assert keys == sorted(set(keys))
                assert {pod.node for pod in store.index("node", Pod("x", node))} <= {node}
            assert set(store.index_values("node")) <= set(NODES)
            assert set(store.keys()) <= set(NAMES)
            assert all(key == pod.name for key, pod in store.items())
            names = [pod.name for pod in store.values()]
            assert len(names) == len(set(names)) <= len(NAMES)
            assert store.get("p1") is None or "p1" in NAMES
            assert len(store) <= len(NAMES)
            assert "nothing" not in store
            assert {"node", "label"} <= set(store.indexers)
            assert store.has_index("node")
            assert store.version == "" or store.version_of("").isdigit()

        read_while(write, read)

    def test_a_read_during_a_replace_sees_the_old_state_or_the_new_one(self) -> None:
        store = store_of()

        def put_all(generation: int) -> None:
            node = NODES[generation % 2]
            names = NAMES[: 20 + generation % 2]
            pods = {f"a/{name}": Pod(name, node, ("a",), generation) for name in names}
            store.replace(pods, str(generation), scope="a")

        store.put("b/other", Pod("other", "elsewhere"), scope="b")
        put_all(0)

        def write() -> None:
            for generation in range(1, 600):
                put_all(generation)

        def read() -> None:
            generations = [pod.generation for pod in store.values() if pod.labels]
            assert len(set(generations)) == 1
            assert len(generations) == 20 + generations[0] % 2
            assert len(store) in {21, 22}
            for parity in (0, 1):
                found = store.by_index("node", NODES[parity])
                assert len(found) in {0, 20 + parity}
                assert len({pod.generation for pod in found}) <= 1
            assert store.index_keys("node", "elsewhere") == ["b/other"]

        read_while(write, read)

    def test_a_reader_that_sees_a_version_finds_its_objects(self) -> None:
        store = store_of()
        store.put("web", WEB, version="0")

        def write() -> None:
            for step in range(1, 2000):
                pod = Pod("web", "n1", generation=step)
                if step % 10:
                    store.put("web", pod, version=str(step))
                else:
                    store.replace({"web": pod}, str(step))

        def read() -> None:
            version = int(store.version)
            pod = store.get("web")
            assert pod is not None
            assert pod.generation >= version
            version = int(store.version)
            [found] = store.by_index("node", "n1")
            assert found.generation >= version

        read_while(write, read)
