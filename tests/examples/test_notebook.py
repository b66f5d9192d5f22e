"""notebook.ipynb: its cells run in order, on the embedded server."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.examples.pods import new_pod

if TYPE_CHECKING:
    import pytest

    import masthead

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


def run_cells() -> list[object]:
    """Run the code cells as Jupyter does: in one namespace; the value of a last expression is what is shown."""
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            *statements, last = ast.parse("".join(cell["source"])).body
            if not isinstance(last, ast.Expr):
                statements.append(last)
            exec(compile(ast.Module(statements, []), NOTEBOOK, "exec"), names)
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), NOTEBOOK, "eval"), names))
    return [each for each in shown if each is not None]


def test_every_cell_shows_what_its_text_says(
    kube_client: masthead.Client,
    kubeconfig_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_file))
    for name, memory in (("a", "1Gi"), ("b", "512Mi")):
        container = {"name": "app", "image": "nginx", "resources": {"requests": {"memory": memory}}}
        kube_client.core_v1.pods("default").create(new_pod(name, containers=[container]))

    assert run_cells() == [[("nginx", 2)], {"default": "1536Mi"}, True, {"Pending": 2}]
    printed = capsys.readouterr().out
    assert printed.startswith("https://127.0.0.1:")
    assert "NAMESPACE   NAME   READY" in printed


def test_it_is_stored_without_outputs() -> None:
    cells = [each for each in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if each["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in cells] == [([], None)] * len(cells)
