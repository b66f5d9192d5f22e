"""Snapshots: writing, reading, and detection of damage."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.meta.samples import NEWER, WEB

from masthead._cache.store.snapshot_file import SnapshotHeader, read, write
from masthead._meta.unstructured import Unstructured
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADER = SnapshotHeader(resource="v1/pods", scopes={"": "5123"}, label_selector="app=web")
either = pytest.mark.parametrize("name", ["pods.snapshot", "pods.zst"])


def pods(count: int = 3) -> list[Pod]:
    return [Pod.from_wire(WEB.replace(b'"name":"web"', b'"name":"web-%d"' % n, 1)) for n in range(count)]


def read_all(path: Path, expected: SnapshotHeader = HEADER) -> tuple[SnapshotHeader, list[Pod]]:
    with read(path, expected, Pod) as (header, objects):
        return header, list(objects)


@either
def test_a_snapshot_is_read_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    given = [*pods(), Pod.from_wire(NEWER)]
    assert write(tmp_path / name, HEADER, given) == 4
    header, found = read_all(tmp_path / name)
    assert header == HEADER
    assert [pod.wire_bytes for pod in found] == [pod.wire_bytes for pod in given]


@pytest.mark.slow
@given(
    scopes=st.dictionaries(st.text(), st.text()),
    contents=st.lists(st.dictionaries(st.text(), st.text())),
    selector=st.text(),
)
def test_any_text_survives_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    scopes: dict[str, str],
    contents: list[dict[str, str]],
    selector: str,
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.snapshot"
    header = SnapshotHeader(resource="v1/configmaps", scopes=scopes, field_selector=selector)
    made = [ConfigMap.from_dict({"metadata": {"name": "a"}, "data": content}) for content in contents]
    write(path, header, made)
    with read(path, header, ConfigMap) as (found, objects):
        assert found == header
        assert list(objects) == made


def test_an_indented_object_is_written_on_one_line(tmp_path: Path) -> None:
    spread = Pod.from_wire(msgspec.json.format(WEB, indent=2))
    write(tmp_path / "pods", HEADER, [spread])
    assert len((tmp_path / "pods").read_bytes().splitlines()) == 3
    assert read_all(tmp_path / "pods")[1] == [spread]


def test_an_item_without_a_type_gets_its_kind_back(tmp_path: Path) -> None:
    item = Unstructured.from_wire(b'{"metadata":{"name":"a"},"spec":{"x":1}}')
    item.api_version, item.kind = "v1", "Pod"
    write(tmp_path / "pods", HEADER, [item])
    with read(tmp_path / "pods", HEADER, Unstructured) as (_, objects):
        [found] = objects
    assert (found.api_version, found.kind, found["spec"]) == ("v1", "Pod", {"x": 1})


def test_an_empty_cache_can_be_written(tmp_path: Path) -> None:
    assert write(tmp_path / "pods", HEADER, []) == 0
    assert read_all(tmp_path / "pods") == (HEADER, [])


def test_only_its_owner_can_read_a_snapshot(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        write(tmp_path / "pods", HEADER, pods())
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "pods").stat().st_mode) == 0o600


def test_a_compressed_snapshot_is_smaller(tmp_path: Path) -> None:
    for name in ("pods", "pods.zst"):
        write(tmp_path / name, HEADER, pods(100))
    assert (tmp_path / "pods.zst").stat().st_size * 5 < (tmp_path / "pods").stat().st_size


@either
def test_a_failed_write_leaves_the_old_snapshot_and_no_other_file(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, HEADER, pods(1))

    def failing() -> Iterator[Pod]:
        yield from pods(2)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        write(tmp_path / name, HEADER, failing())
    assert len(read_all(tmp_path / name)[1]) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"cannot be written \(No such file.*give it a folder"):
        write(tmp_path / "none" / "pods", HEADER, pods())


def test_objects_are_written_and_read_one_by_one(tmp_path: Path) -> None:
    recorder: list[str] = []

    def produced() -> Iterator[Pod]:
        for pod in pods():
            recorder.append(pod.metadata.name)
            yield pod

    write(tmp_path / "pods", HEADER, produced())
    with read(tmp_path / "pods", HEADER, Pod) as (_, objects):
        assert next(objects).metadata.name == "web-0"
        assert iter(objects) is objects
    assert recorder == ["web-0", "web-1", "web-2"]


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"^there is no snapshot \S*pods yet; go on without$") as caught:
        read_all(tmp_path / "pods")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(SnapshotError, match=r"cannot be read.*delete it"):
        read_all(tmp_path)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"resource": "v1/services"}, "resource is 'v1/pods' there, not 'v1/services'"),
        ({"label_selector": ""}, "label_selector is 'app=web' there, not ''"),
        ({"field_selector": "a=b"}, "field_selector"),
        ({"shard_selector": "x"}, "shard_selector"),
        ({"transform": "drop_managed_fields"}, "transform is '' there, not 'drop_managed_fields'"),
        ({"scopes": {"shop": ""}}, r"scopes is \[''\] there, not \['shop'\]"),
    ],
)
def test_a_snapshot_of_another_cache_is_rejected(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    write(tmp_path / "pods", HEADER, pods())
    with pytest.raises(SnapshotError, match=f"is of another cache: {problem}.*delete it"):
        read_all(tmp_path / "pods", msgspec.structs.replace(HEADER, **changed))


def test_resource_versions_are_returned_and_not_compared(tmp_path: Path) -> None:
    write(tmp_path / "pods", HEADER, pods())
    header, _ = read_all(tmp_path / "pods", msgspec.structs.replace(HEADER, scopes={"": ""}))
    assert header.scopes == {"": "5123"}


@pytest.mark.parametrize(
    ("first_line", "problem"),
    [
        (b"", "is no snapshot"),
        (b"\n", "is no snapshot"),
        (b"\x7fELF\x00\xff\n", "is no snapshot"),
        (b"[]\n", "is no snapshot"),
        (b'{"format":"other","formatVersion":1}\n', "is no snapshot"),
        (b'{"format":"masthead-snapshot","formatVersion":2,"news":[]}\n', "is of format 2, and this program"),
        (b'{"format":"masthead-snapshot","formatVersion":1,"scopes":7}\n', "its first line is broken"),
        (b"x" * (1 << 21), "is no snapshot"),
    ],
)
def test_a_file_that_is_not_a_snapshot_is_rejected(tmp_path: Path, first_line: bytes, problem: str) -> None:
    (tmp_path / "pods").write_bytes(first_line)
    with pytest.raises(SnapshotError, match=f"{problem}.*delete it"):
        read_all(tmp_path / "pods")


@either
def test_a_snapshot_truncated_anywhere_is_rejected(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, HEADER, pods(2))
    whole = path.read_bytes()
    # Without its last byte, an uncompressed snapshot lacks only the end of its last line.
    for length in range(0, len(whole) - 1, 7 if name == "pods.zst" else 37):
        path.write_bytes(whole[:length])
        with pytest.raises(SnapshotError, match="delete it"):
            read_all(path)


@either
def test_a_changed_byte_is_detected(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, HEADER, pods(2))
    whole = path.read_bytes()
    rng = random.Random(5)
    for _ in range(200):
        position = rng.randrange(len(whole) - 1)
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1 << rng.randrange(8)]) + whole[position + 1 :])
        try:
            found = read_all(path)
        except SnapshotError:
            continue
        assert found == (HEADER, pods(2))  # some bits mean nothing


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"not json", r"a broken object in line 2: Pod: not JSON"),
        (
            b'{"kind":"Service","metadata":{"name":"x"}}',
            r'a broken object in line 2: Pod "x": kind: expected "Pod"',
        ),
        (b'{"metadata":{}}', "an object without a name in line 2"),
        (b"", "a broken object in line 2"),
    ],
)
def test_an_invalid_object_is_reported_with_its_line(tmp_path: Path, line: bytes, problem: str) -> None:
    write(tmp_path / "pods", HEADER, pods(1))
    header, _, end = (tmp_path / "pods").read_bytes().splitlines()
    (tmp_path / "pods").write_bytes(b"\n".join([header, line, end, b""]))
    with pytest.raises(SnapshotError, match=f"{problem}.*delete it"):
        read_all(tmp_path / "pods")


def test_a_missing_object_is_detected(tmp_path: Path) -> None:
    write(tmp_path / "pods", HEADER, pods(3))
    lines = (tmp_path / "pods").read_bytes().splitlines(keepends=True)
    (tmp_path / "pods").write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(SnapshotError, match="3 objects were written, and 2 are there"):
        read_all(tmp_path / "pods")


def test_data_after_the_end_is_detected(tmp_path: Path) -> None:
    write(tmp_path / "pods", HEADER, pods(1))
    with (tmp_path / "pods").open("ab") as file:
        file.write(WEB + b"\n")
    with pytest.raises(SnapshotError, match="delete it"):
        read_all(tmp_path / "pods")


def test_errors_of_the_reader_pass_through(tmp_path: Path) -> None:
    write(tmp_path / "pods", HEADER, pods(1))
    with pytest.raises(OSError, match="mine"), read(tmp_path / "pods", HEADER, Pod):
        raise OSError("mine")


def test_without_zstandard_the_message_names_the_extra(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["zstandard"] = None
from masthead._cache.store.snapshot_file import SnapshotHeader, write
from masthead.errors import ConfigError
header = SnapshotHeader(resource="v1/pods", scopes={})
write(sys.argv[1] + "/pods", header, [])
try:
    write(sys.argv[1] + "/pods.zst", header, [])
except ConfigError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True)
    assert "masthead-k8s[compact]" in run.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["pods"]
