"""The library without the embedded server: one error that names the extra, and an attribute that is merely missing."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

REMEDY = "pip install 'masthead-k8s[server]'"


def run(code: str) -> str:
    """Run a program without the server; return its output."""
    program = f"""
import importlib.abc, sys

class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "masthead_server":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "masthead_server" else find(name, package)
sys.meta_path.insert(0, Hide())
import masthead
{textwrap.dedent(code)}
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_server_names_the_extra() -> None:
    output = run(
        """
        try:
            import masthead.server
        except ModuleNotFoundError as error:
            print(error)
        """
    )

    assert REMEDY in output


@pytest.mark.parametrize(
    "code",
    [
        "print(hasattr(masthead, 'server'))",
        "import inspect; print(any(name == 'server' for name, _ in inspect.getmembers(masthead)))",
        "import pydoc; print('masthead.server needs' in pydoc.render_doc(masthead))",
        "import rlcompleter; rlcompleter.Completer({'masthead': masthead}).complete('masthead.s', 0); print(False)",
    ],
)
def test_introspection_of_the_root_works_without_the_server(code: str) -> None:
    assert run(code) == "False\n"


def test_the_attribute_names_the_extra_too() -> None:
    output = run(
        """
        try:
            masthead.server
        except AttributeError as error:
            print(error)
        """
    )

    assert REMEDY in output
