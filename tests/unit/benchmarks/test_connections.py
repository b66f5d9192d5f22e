"""The benchmark of connections, without a server: the programs that it runs, and the figures that it sums up."""

import asyncio
import sys
from pathlib import Path

import pytest
from benchmarks.connections import benchmark
from benchmarks.connections.program import InformerProgram, running

PROGRAM = """\
import json, sys
print(json.dumps({"informer": 0, "tick": "1"}), flush=True)
print(json.dumps({"synced": True, "seconds": 2}), flush=True)
for _ in sys.stdin:
    print(json.dumps({"sockets": 3}), flush=True)
    print(json.dumps({"informer": 0, "tick": "2"}), flush=True)
"""


def test_what_informers_see_and_use_is_read_from_their_program(tmp_path: Path) -> None:
    async def run() -> InformerProgram:
        async with running((sys.executable, "-c", PROGRAM), tmp_path / "kubeconfig", ["a"]) as program:
            assert (program.synced["seconds"], program.ticks) == (2, {0: "1"})
            assert (await program.stats())["sockets"] == 3
            assert await program.until(lambda: program.ticks[0] == "2")
            return program

    assert asyncio.run(run()).ticks == {0: "2"}


def test_a_program_that_ends_before_it_has_synced_is_an_error(tmp_path: Path) -> None:
    async def run() -> None:
        async with running((sys.executable, "-c", "pass"), tmp_path / "kubeconfig", ["a"]):
            pass

    with pytest.raises(RuntimeError, match="did not sync"):
        asyncio.run(run())


def test_client_go_is_measured_with_and_without_http2_if_there_is_a_program_for_it() -> None:
    assert benchmark.contenders("").keys() == {"masthead"}
    found = benchmark.contenders("/a/program")
    assert found.keys() == {"masthead", "client_go", "client_go_http1"}
    assert found["client_go"].command == ("/a/program", "informers")
    assert found["client_go_http1"].environment == {"DISABLE_HTTP2": "true"}
