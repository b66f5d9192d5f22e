"""The benchmark of recovery, without failures: whom it measures, and what it reads of them."""

import asyncio
import sys
from pathlib import Path

import pytest
from benchmarks.recovery.watchers import CLIENT_GO, find_contenders, run_watcher


def fake_python(path: Path, prints: str) -> str:
    path.write_text(f"#!{sys.executable}\nprint({prints!r})\n")
    path.chmod(0o700)
    return str(path)


def test_client_go_is_measured_by_the_program_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_kopf = fake_python(tmp_path / "python", "")
    monkeypatch.delenv(CLIENT_GO, raising=False)
    assert [contender.name for contender in find_contenders(without_kopf)] == ["masthead"]

    monkeypatch.setenv(CLIENT_GO, "/a/program")
    _, client_go = find_contenders(without_kopf)
    assert client_go.command == ("/a/program", "recovery")
    assert not client_go.is_ours


def test_kopf_is_measured_by_the_interpreter_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CLIENT_GO, raising=False)
    python = fake_python(tmp_path / "python", "1.45.2")

    _, kopf = find_contenders(python)

    assert kopf.title == "kopf 1.45.2"
    assert kopf.command == (python, "-m", "benchmarks.recovery.kopf_watcher")


def test_a_watcher_says_when_it_is_ready_and_what_it_has_seen(tmp_path: Path) -> None:
    program = "print('noise'); print('ready', flush=True); print('seen a 1', flush=True); import sys; sys.stdin.read()"

    async def run() -> tuple[float | None, float | None]:
        async with run_watcher((sys.executable, "-c", program), tmp_path / "kubeconfig") as watcher:
            await watcher.wait_ready(60)
            return await watcher.wait_seen("a", "1", 60), await watcher.wait_seen("a", "2", 0)

    seen, unseen = asyncio.run(run())
    assert seen is not None
    assert unseen is None
