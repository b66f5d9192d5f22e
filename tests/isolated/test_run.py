"""``masthead run`` as a process of its own, against an embedded server in another one."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

import pytest

import masthead
import masthead.server
from masthead.api.core.v1 import ConfigMap
from masthead.meta.v1 import ObjectMeta

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send signals there")

PROGRAM = """
import masthead
from masthead.api.core.v1 import ConfigMap

app = masthead.Manager("shop", namespaces="default")

@app.controller(ConfigMap, name="settings")
async def reconcile(ctx, settings):
    ctx.log.info("VERSION one", extra={"keys": sorted(settings.data or ())})

@app.controller(ConfigMap, name="plain")
def reconcile_plainly(ctx, settings):
    ctx.log.info("in a thread")
"""
PORTS_OFF = ["--metrics-bind", "0", "--probe-bind", "0"]


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with masthead.server.run(controllers=False, bootstrap=False) as server:
        path = server.write_kubeconfig(tmp_path_factory.mktemp("cluster") / "kubeconfig")
        with masthead.Client(kubeconfig=path) as client:
            client.core_v1.config_maps("default").create(ConfigMap(metadata=ObjectMeta(name="web"), data={"a": "1"}))
        yield path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM, "utf-8")
    return tmp_path


class Running:
    """A process whose error output is read line by line, with a deadline."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._seen: list[str] = []
        self._reader = threading.Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reader.start()

    def _read(self, output: IO[str] | None) -> None:
        assert output is not None
        for line in output:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def line(self, part: str) -> str:
        """Wait for a line that contains a text."""
        while True:
            try:
                found = self._lines.get(timeout=60)
            except queue.Empty:
                pytest.fail(f"no line with {part!r} among {self._seen}")
            if found is None:
                pytest.fail(f"the process ended without {part!r}: {self._seen}")
            self._seen.append(found)
            if part in found:
                return found

    def record(self, part: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.line(part))
        return found

    def stop(self, number: signal.Signals = signal.SIGTERM, *, is_group: bool = False) -> int:
        """Ask it to stop, perhaps with its children; all lines are read then."""
        if is_group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        self.read_all()
        return self.process.wait(60)

    def read_all(self) -> None:
        """Read to the end of the output."""
        self._reader.join(60)
        while not self._lines.empty():
            if (line := self._lines.get()) is not None:
                self._seen.append(line)

    @property
    def seen(self) -> list[str]:
        return self._seen


@contextmanager
def running(folder: Path, *arguments: str, **environment: str) -> Generator[Running]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MASTHEAD_", "KUBE"))}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "masthead", "run", *arguments],
        cwd=folder,
        env={**clean, **environment},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        found = Running(process)
        try:
            yield found
        finally:
            # With its children: one that is left would keep the pipe open.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            found.read_all()


def run_to_end(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    with running(folder, *arguments, **environment) as process:
        process.read_all()
        return process.process.wait(60), "\n".join(process.seen)


@pytest.mark.slow
def test_an_operator_runs_until_it_is_asked_to_stop(project: Path, kubeconfig: Path) -> None:
    with running(project, "app.py", "--kubeconfig", str(kubeconfig), *PORTS_OFF) as process:
        # In any order: they are two controllers.
        lines = [process.line('"name":"web"') for _ in range(2)]
        assert process.stop() == 0
    (found,) = [json.loads(line) for line in lines if '"keys":["a"]' in line]
    shown = {key: found[key] for key in ("controller", "namespace", "name", "msg")}
    assert shown == {"controller": "settings", "namespace": "default", "name": "web", "msg": "VERSION one"}
    records = [json.loads(line) for line in process.seen]
    assert any(each["msg"] == "in a thread" and each["controller"] == "plain" for each in records)
    assert any("SIGTERM" in each["msg"] for each in records)
    assert all(each["level"] in {"info", "warning"} for each in records)


STUBBORN = """
import asyncio, masthead
from masthead.api.core.v1 import ConfigMap

app = masthead.Manager("stubborn", namespaces="default")

@app.controller(ConfigMap)
async def reconcile(ctx, settings):
    ctx.log.info("busy")
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue
"""


@pytest.mark.slow
def test_the_exit_code_tells_that_work_was_abandoned(kubeconfig: Path, tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN, "utf-8")
    arguments = ["stubborn.py", "--kubeconfig", str(kubeconfig), "--graceful-timeout", "0", *PORTS_OFF]
    with running(tmp_path, *arguments) as process:
        process.line("busy")
        assert process.stop() == 124
    assert "stopped, but not gracefully: abandoned configmaps default/web" in "\n".join(process.seen)


@pytest.mark.slow
def test_every_line_of_a_reconcile_names_it(project: Path, kubeconfig: Path) -> None:
    program = PROGRAM.replace(
        '    ctx.log.info("in a thread")',
        "    import logging\n    logging.getLogger('shop.library').info('from a library')",
    )
    (project / "app.py").write_text(program, "utf-8")
    with running(project, "app", "--kubeconfig", str(kubeconfig), *PORTS_OFF) as process:
        found = process.record("from a library")
        process.stop()
    assert (found["logger"], found["controller"]) == ("shop.library", "plain")
    assert found["reconcileID"]


@pytest.mark.slow
def test_arguments_take_precedence_over_the_environment(project: Path, kubeconfig: Path) -> None:
    environment = {
        "MASTHEAD_KUBECONFIG": str(kubeconfig),
        "MASTHEAD_LOG_FORMAT": "json",
        "MASTHEAD_LOG_LEVEL": "error",
        "MASTHEAD_METRICS_BIND": "not an address",
    }
    with running(project, "app.py", "--log-format", "text", "-v", **environment) as process:
        line = process.line("MASTHEAD_METRICS_BIND='not an address'")
        assert line.startswith("masthead run: environment variable")
        assert process.process.wait(60) == 2
    environment |= {"MASTHEAD_METRICS_BIND": "0", "MASTHEAD_PROBE_BIND": "0"}
    with running(project, "app.py", "--log-format", "text", "-v", **environment) as process:
        assert " default/web " in process.line("VERSION one")
        process.stop()
    assert any(" DEBUG " in line for line in process.seen)


def test_what_the_code_says_about_logging_holds_if_nothing_else_does(project: Path, kubeconfig: Path) -> None:
    options = 'options=masthead.controller.RunOptions(log_format="text", log_level="WARNING")'
    program = PROGRAM.replace('namespaces="default"', f'namespaces="default", {options}')
    (project / "app.py").write_text(program.replace("log.info", "log.warning"), "utf-8")
    with running(project, "app.py", "--kubeconfig", str(kubeconfig), *PORTS_OFF) as process:
        assert " WARNING " in process.line("VERSION one")
        process.stop()
    assert not any(" INFO " in line or line.startswith("{") for line in process.seen)


def test_a_module_that_raises_is_one_json_line_with_its_traceback(project: Path) -> None:
    (project / "broken.py").write_text("def fail():\n    raise ValueError('no')\nfail()\n", "utf-8")
    code, output = run_to_end(project, "broken.py")
    found = json.loads(output)
    assert (code, found["level"], found["error"]) == (1, "critical", "ValueError: no")
    assert "in fail" in found["stacktrace"]
    assert "masthead" not in found["stacktrace"]


def test_probes_and_metrics_are_served(project: Path, kubeconfig: Path) -> None:
    ports = ["--metrics-bind", "127.0.0.1:0", "--probe-bind", "127.0.0.1:0", "--debug-bind", "127.0.0.1:0"]
    with running(project, "app.py", "--kubeconfig", str(kubeconfig), *ports) as process:
        port = process.record("/healthz")["msg"].rpartition(" ")[2]
        process.line("VERSION one")

        def get(path: str) -> str:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as response:
                    return str(response.read(), "utf-8")
            except urllib.error.HTTPError as error:
                with error:
                    return str(error.read(), "utf-8")

        def wait_for(part: str, path: str) -> None:
            """The line is logged within a reconcile, and what follows it is counted soon afterwards."""
            deadline = time.monotonic() + 60
            while part not in (text := get(path)):
                assert time.monotonic() < deadline, text

        assert get("/healthz") == "ok"
        wait_for("ok", "/readyz/controllers")
        assert get("/readyz") == "ok"
        wait_for('controller_runtime_reconcile_total{controller="settings",result="success"} 1.0', "/metrics")
        assert 'rest_client_requests_total{code="200",' in get("/metrics")
        assert "settings" in get("/debug")
        assert "masthead controller settings worker 0" in get("/debug/tasks")
        assert process.stop(signal.SIGINT) == 0


@pytest.mark.slow
def test_reload_starts_it_again_when_a_file_changes_and_survives_a_syntax_error(
    project: Path, kubeconfig: Path
) -> None:
    app = project / "app.py"
    with running(project, "app.py", "--kubeconfig", str(kubeconfig), *PORTS_OFF, "--reload") as process:
        process.line("watching 1 file in ")
        process.line("VERSION one")
        app.write_text(PROGRAM.replace("one", "two"), "utf-8")
        process.line("app.py changed: restarting")
        process.line("SIGTERM: stopping gracefully")
        process.line("VERSION two")
        app.write_text("def f(:", "utf-8")
        process.line("SyntaxError")
        process.line("the program has ended with code 1; waiting for a change")
        app.write_text(PROGRAM.replace("one", "three"), "utf-8")
        process.line("VERSION three")
        assert process.stop(signal.SIGINT) == 0
    assert "manager shop stops" in "\n".join(process.seen[-5:])


@pytest.mark.slow
def test_reload_notices_new_files_and_other_folders(kubeconfig: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    # Also the name of a module of the standard library.
    (folder / "operator.py").write_text(PROGRAM, "utf-8")
    arguments = [
        "operator.py",
        "--reload",
        f"--reload-dir={library}",
        "--kubeconfig",
        str(kubeconfig),
        *PORTS_OFF,
    ]
    with running(folder, *arguments) as process:
        process.line("VERSION one")
        (library / "new.py").write_text("", "utf-8")
        process.line("new.py changed: restarting")
        process.line("VERSION one")
        # A terminal sends Ctrl-C to the whole group, and the parent then asks its child as well: that is one request.
        assert process.stop(signal.SIGINT, is_group=True) == 0
    assert not any("stopped at once" in line for line in process.seen)
