"""What editors show: completion, and docstrings of types and fields, by the engines of VS Code, Jedi and mypy."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

jedi: Any = importlib.import_module("jedi")  # it has no types

FOLDER = Path(__file__).parent
SERVER = Path(sys.executable).with_name("pyright-langserver")
PATIENCE = 300
CONFIGURATION = "workspace/configuration"

CHAINS = {
    'masthead.Client().core_v1.pods("x").list()[0].spec.': {"containers", "node_name", "service_account_name"},
    'masthead.Client().core_v1.pods("x").get("web").status.': {"phase", "pod_ip", "container_statuses"},
    'masthead.Client().apps_v1.deployments("x").': {"restart", "get_scale", "watch", "wait_for"},
    'masthead.Client().core_v1.nodes.get("n").metadata.': {"labels", "owner_references", "resource_version"},
    'Pod.new("web").spec.containers[0].': {"image_pull_policy", "liveness_probe", "env_from"},
}
DOCS = {
    "Pod().spec.containers[0].image_pull_policy": "`IfNotPresent`",
    "Pod().spec.termination_grace_period_seconds": "30",
    "Pod().metadata.deletion_timestamp": "finalizers delay it",
    "Pod": "containers that run together on a node",
}
PROGRAM = "import masthead\nfrom masthead.api.core.v1 import Pod\n"


class LanguageServer:
    """pyright's language server, over its standard streams."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([str(SERVER), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 0
        self._text = ""

    def __enter__(self) -> Self:
        folder = {"uri": FOLDER.as_uri(), "name": "program"}
        capabilities = {"workspace": {"configuration": True, "workspaceFolders": True}}
        self.ask("initialize", {"processId": None, "workspaceFolders": [folder], "capabilities": capabilities})
        self._send("initialized", {})
        return self

    def __exit__(self, *exc: object) -> None:
        self.ask("shutdown", None)
        self._send("exit", None)
        self._process.communicate(timeout=PATIENCE)

    def at_end_of(self, line: str, method: str, *, before: int = 0) -> Any:
        """Ask for something at the end of a line, which is the last one of the program."""
        # A new document each time: an opened one would have to be changed and closed.
        self._number += 1
        uri = (FOLDER / f"unsaved_{self._number}.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": PROGRAM + line}
        self._send("textDocument/didOpen", {"textDocument": document})
        position = {"line": PROGRAM.count("\n"), "character": len(line) - before}
        return self.ask(f"textDocument/{method}", {"textDocument": {"uri": uri}, "position": position})

    def ask(self, method: str, params: Any) -> Any:
        """Send a request, and return its result."""
        self._number += 1
        number = self._number
        self._send(method, params, number)
        # Requests of the server have numbers, too, and come in between.
        while (message := self._receive()).get("id") != number or "method" in message:
            if "id" in message:  # a request of the server: it wants its settings
                self._answer(message)
        return message["result"]

    def _answer(self, message: dict[str, Any]) -> None:
        asked: list[dict[str, str]] = message["params"]["items"] if message["method"] == CONFIGURATION else []
        self._write({"id": message["id"], "result": [self._settings(item) for item in asked]})

    def _settings(self, item: dict[str, str]) -> dict[str, str] | None:
        return {"pythonPath": sys.executable} if item.get("section") == "python" else None

    def _send(self, method: str, params: Any, number: int | None = None) -> None:
        self._write({"method": method, "params": params, **({"id": number} if number is not None else {})})

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        size = 0
        while line := self._process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
        # Without a header, the stream has ended.
        assert size, "the language server has ended"
        message: dict[str, Any] = json.loads(self._process.stdout.read(size))
        return message


@pytest.fixture(scope="module")
def pyright() -> Iterator[LanguageServer]:
    with LanguageServer() as server:
        yield server


@pytest.mark.parametrize("chain", CHAINS)
def test_pyright_completes_a_chain_of_calls(chain: str, pyright: LanguageServer) -> None:
    found: dict[str, list[dict[str, str]]] = pyright.at_end_of(chain, "completion")

    assert CHAINS[chain] <= {item["label"] for item in found["items"]}


@pytest.mark.parametrize("name", DOCS)
def test_pyright_shows_docstrings(name: str, pyright: LanguageServer) -> None:
    assert DOCS[name] in " ".join(str(pyright.at_end_of(name, "hover", before=1)["contents"]).split())


@pytest.mark.parametrize("chain", CHAINS)
def test_jedi_completes_a_chain_of_calls(chain: str) -> None:
    script = jedi.Script(PROGRAM + chain)

    names = {found.name for found in script.complete(PROGRAM.count("\n") + 1, len(chain))}

    assert CHAINS[chain] <= names


@pytest.mark.parametrize("name", DOCS)
def test_jedi_shows_docstrings(name: str) -> None:
    script = jedi.Script(PROGRAM + name)

    shown: str = script.help(PROGRAM.count("\n") + 1, len(name) - 1)[0].docstring()

    assert DOCS[name] in " ".join(shown.split())


class MypyDaemon:
    """mypy's daemon, with a program that names the value of each expression.

    Args:
        folder: An empty folder.
        expressions: The expressions.
    """

    def __init__(self, folder: Path, expressions: Iterable[str]) -> None:
        self._folder = folder
        self._program = folder / "program.py"
        # The daemon is asked about names: at the beginning of a chain, there is an expression for each of its parts.
        lines = [f"value_{number} = {each}\nvalue_{number}\n" for number, each in enumerate(expressions)]
        self._program.write_text(PROGRAM + "".join(lines), "utf-8")

    def __enter__(self) -> Self:
        self._run("run", "--export-types", "--", "--cache-dir", str(self._folder / "cache"), self._program.name)
        return self

    def __exit__(self, *exc: object) -> None:
        self._run("stop")

    def attributes(self, number: int) -> set[str]:
        """The attributes of an expression's value, and of its base classes."""
        place = f"{self._program.name}:{PROGRAM.count(chr(10)) + 2 * number + 2}:1"
        found: dict[str, list[str]] = json.loads(self._run("inspect", "--show", "attrs", place))
        return {name for names in found.values() for name in names}

    def _run(self, *arguments: str) -> str:
        command = [str(Path(sys.executable).with_name("dmypy")), "--status-file", "status.json", *arguments]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def test_the_daemon_of_mypy_knows_the_attributes_of_a_chain_of_calls(tmp_path: Path) -> None:
    with MypyDaemon(tmp_path, [chain.removesuffix(".") for chain in CHAINS]) as daemon:
        for number, expected in enumerate(CHAINS.values()):
            assert expected <= daemon.attributes(number)
