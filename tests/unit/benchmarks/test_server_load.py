import io
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.harness import measure, pods, report, wire
from benchmarks.harness.measure import Figures
from benchmarks.harness.report import Column, Report, Row, Table, Target
from benchmarks.harness.wire import Address
from benchmarks.server import contenders, load
from hypothesis import given
from hypothesis import strategies as st


def chunked(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])


def test_a_new_pod_is_the_benchmarks_pod_without_what_servers_decide() -> None:
    [listed] = json.loads(pods.generate(1))["items"]
    pod = json.loads(pods.new_pod("here", "one", 7))

    assert (pod["kind"], pod["apiVersion"]) == ("Pod", "v1")
    assert (pod["metadata"]["namespace"], pod["metadata"]["name"]) == ("here", "one")
    assert pod["metadata"]["annotations"].pop("benchmark/serial") == "00000007"
    assert pod["metadata"]["annotations"] == listed["metadata"]["annotations"]
    listed["spec"]["containers"][0]["image"] = pod["spec"]["containers"][0].get("image")
    listed["spec"] |= {
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "automountServiceAccountToken": False,
    }
    assert pod["spec"] == listed["spec"]
    assert "status" not in pod
    assert not pod["metadata"].keys() & {"uid", "resourceVersion", "creationTimestamp", "managedFields"}


def test_new_pods_are_of_a_hundred_templates() -> None:
    made = [json.loads(pods.new_pod("here", f"pod-{number}", 0)) for number in range(2_000)]

    assert len({json.dumps(pod["spec"]) for pod in made}) == 100


def test_new_pods_of_names_of_one_length_have_one_length() -> None:
    assert len(pods.new_pod("here", "a-1", 0)) == len(pods.new_pod("here", "b-2", 12_345_678))


def test_an_answer_with_a_length_is_read_to_its_end_and_no_further() -> None:
    stream = io.BytesIO(b"HTTP/1.1 201 Created\r\ncontent-length: 5\r\nX: y\r\n\r\nfirstnext")

    head = wire.read_head(stream)

    assert head == wire.Head(201, 5)
    assert wire.read_body(stream, head) == b"first"
    assert stream.read() == b"next"


def test_an_answer_in_chunks_is_read_to_its_end_and_no_further() -> None:
    stream = io.BytesIO(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked([b"{", b"}"]) + b"next")

    head = wire.read_head(stream)

    assert head == wire.Head(200, None)
    assert wire.read_body(stream, head) == b"{}"
    assert stream.read() == b"next"


@pytest.mark.parametrize("cut", [1, 5, 20, 43, 48])
def test_an_answer_that_is_cut_short_is_no_answer(cut: int) -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"
    stream = io.BytesIO(whole[:cut])

    with pytest.raises(EOFError):
        wire.read_body(stream, wire.read_head(stream))


@given(st.lists(st.text("ab\n"), max_size=8))
def test_lines_are_the_same_however_they_are_cut_into_chunks(pieces: list[str]) -> None:
    chunks = [piece.encode() for piece in pieces if piece]

    lines = list(wire.lines_of(wire.chunks_of(io.BytesIO(chunked(chunks)))))

    assert lines == b"".join(chunks).split(b"\n")[:-1]


def test_a_request_says_how_long_its_body_is_and_shows_the_token_if_there_is_one() -> None:
    with_token = Address("https://127.0.0.1:6443", "secret").request("PUT", "/there", b"{}").decode()
    without = Address("http://127.0.0.1:8080").request("GET", "/there").decode()

    head, _, body = with_token.partition("\r\n\r\n")
    assert head.splitlines()[:3] == ["PUT /there HTTP/1.1", "Host: 127.0.0.1:6443", "Content-Length: 2"]
    assert "Authorization: Bearer secret" in head.splitlines()
    assert body == "{}"
    assert "Authorization" not in without


def test_connections_name_their_pods_apart_and_their_names_have_one_length() -> None:
    address = Address("http://127.0.0.1:8080")
    requests = [
        load.Pods(address, "here", owner).get(number) for owner, number in itertools.product((0, 15, 99), (0, 123_456))
    ]

    assert len(set(requests)) == len(requests)
    assert len({len(request) for request in requests}) == 1


def test_a_watcher_that_was_told_every_write_in_order_missed_nothing() -> None:
    assert load.astray([7, 5, 6], [5, 6, 7]) == 0


@pytest.mark.parametrize(
    ("seen", "mistakes"),
    [([5, 6], 1), ([5, 7, 6], 2), ([5, 6, 6], 1), ([5, 6, 7, 8], 1), ([], 3), ([5, 0, 7], 1)],
)
def test_what_is_missing_twice_out_of_order_or_unknown_counts_as_astray(seen: list[int], mistakes: int) -> None:
    assert load.astray([5, 6, 7], seen) == mistakes


def seconds(create: float, update: float) -> Figures:
    return {"create": create, "update": update}


ROUNDS: list[dict[str, Figures]] = [
    {"ours": seconds(0.001, 0.003), "real": seconds(0.004, 0.008)},
    {"ours": seconds(0.002, 0.006), "real": seconds(0.006, 0.010)},
    {"ours": seconds(0.001, 0.001), "real": seconds(0.010, 0.010)},
]


def test_a_rate_is_that_of_the_round_in_the_middle() -> None:
    assert contenders.rate(ROUNDS, "ours", "update") == pytest.approx(1000 / 3)


def test_servers_are_compared_within_each_round_and_the_middle_one_counts() -> None:
    assert contenders.times_the_real(ROUNDS, "ours", ("create", "update")) == pytest.approx(3)
    assert contenders.times_the_real(ROUNDS, "real", ("create",)) == 1


def test_without_a_real_server_there_is_nothing_to_compare_with() -> None:
    alone = [{"ours": each["ours"]} for each in ROUNDS]

    assert contenders.times_the_real(alone, "ours", ("create",)) is None


def test_a_target_may_be_the_least(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (
        Row("fast", "fast", (3.0,), Target("fast", 3.0, 3.0, is_least=True)),
        Row("slow", "slow", (2.9,), Target("slow", 2.9, 3.0, is_least=True)),
    )
    table = Table("load", "Load", (Column("times", "times"),), rows)

    report.show(Report("server", {}, (table,)))

    *text, last = capsys.readouterr().out.splitlines()
    assert "  fast     3.0     >= 3      ok" in text
    assert "  slow     2.9     >= 3   UNDER" in text
    assert "Under target: slow" in text
    assert json.loads(last)["targets"]["slow"] == {"value": 2.9, "limit": 3.0, "ok": False}


def test_rounds_are_kept_apart() -> None:
    figures = iter([1.0, 2.0, 3.0, 4.0])

    rounds = measure.in_turn(2, {"one": lambda: {"ms": next(figures)}, "two": lambda: {"ms": next(figures)}})

    assert rounds == [{"one": {"ms": 1.0}, "two": {"ms": 2.0}}, {"one": {"ms": 3.0}, "two": {"ms": 4.0}}]


def test_a_quick_run_without_a_real_server_ends_with_a_line_of_json(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.server", "--quick"],
        cwd=measure.ROOT,
        env={**os.environ, "KUBEBUILDER_ASSETS": str(tmp_path)},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])

    assert printed["benchmark"] == "server"
    assert printed["tables"]["load"].keys() == {"memory", "memory_tls", "file_tls"}
    assert printed["tables"]["load"]["memory"]["creates"] > 0
    assert all(each["astray"] == 0 for each in printed["tables"]["watch"].values())
    assert not printed["targets"], "a quick run judges nothing"
    assert "nothing to compare with: etcd, kube-apiserver" in done.stdout
