import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.harness import deployments, measure
from benchmarks.harness.wire import Address
from benchmarks.server import apply_load
from benchmarks.server.apply import apply_tables
from benchmarks.server.contenders import Contender

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures


def test_deployments_of_names_of_one_length_have_one_length_and_differ_in_name_and_serial() -> None:
    one, other = (deployments.new_deployment("here", name, serial) for name, serial in (("a", 0), ("b", 7)))
    first, second = json.loads(one), json.loads(other)

    assert len(one) == len(other)
    assert (first["metadata"].pop("name"), second["metadata"].pop("name")) == ("a", "b")
    assert second["metadata"]["annotations"].pop("benchmark/serial") == "00000007"
    first["metadata"]["annotations"].pop("benchmark/serial")
    assert first == second


def test_a_second_manager_changes_one_field_that_the_first_declares() -> None:
    declared = json.loads(deployments.new_deployment("here", "a", 0))
    change = json.loads(deployments.one_field("a", 5))

    [(field, value)] = change["spec"].items()
    assert declared["spec"][field] != value


def test_every_deployment_has_one_connection() -> None:
    shares = apply_load.shares("a", 1_000, 16)

    names = list(itertools.chain.from_iterable(shares))
    assert len(names) == len(set(names)) == 1_000
    assert {len(share) for share in shares} == {62, 63}


def test_an_apply_names_its_manager_and_media_type() -> None:
    requests = apply_load.Deployments(Address("http://127.0.0.1:8080"), "here")

    head = requests.apply_one_field("a").decode().splitlines()
    path = "/apis/apps/v1/namespaces/here/deployments/a?fieldManager=second&force=true"
    assert head[0] == f"PATCH {path} HTTP/1.1"
    assert "Content-Type: application/apply-patch+yaml" in head


def test_each_kind_of_apply_is_judged_beside_the_real_server() -> None:
    def started() -> Any:
        raise AssertionError("nothing is started")

    servers = {
        "ours": Contender("ours", started, is_judged=True),
        "real": Contender("real", started),
    }
    spent: dict[str, Figures] = {
        "ours": {"create": 0.002, "unchanged": 0.001, "second": 0.004},
        "real": {"create": 0.002, "unchanged": 0.002, "second": 0.002},
    }

    tables = apply_tables(servers, [spent], 1_000)

    verdicts = {table.name: table.rows[0].target for table in tables}
    assert {name: target and target.ok for name, target in verdicts.items()} == {
        "create": True,
        "unchanged": True,
        "second": False,
    }


@pytest.mark.slow
def test_a_quick_run_applies_and_updates(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.server", "--apply", "--quick"],
        cwd=measure.ROOT,
        env={**os.environ, "KUBEBUILDER_ASSETS": str(tmp_path)},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])

    assert printed["benchmark"] == "server_apply"
    assert printed["tables"].keys() == {"create", "unchanged", "second", "update"}
    assert printed["tables"]["second"]["memory_tls"]["rate"] > 0
    assert printed["tables"]["update"]["memory"]["us"] > 0
    assert not printed["targets"], "a quick run judges nothing"
