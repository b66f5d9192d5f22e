"""Uses the library without the embedded server: run by the Python of a clean environment, isolated, without any extra.

    python -I smoke_alone.py

It imports the standard library and masthead only, and raises if a step fails.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import masthead
from masthead.api.core.v1 import Pod

_REMEDY = "pip install 'masthead-k8s[server]'"


def check_missing_server() -> None:
    """Check that everything that needs the server names the extra that installs it."""
    try:
        importlib.import_module("masthead.server")
    except ModuleNotFoundError as error:
        assert _REMEDY in str(error), error
    else:
        raise AssertionError("the embedded server is installed")
    for command in ("serve", "demo"):
        done = subprocess.run(
            [sys.executable, "-I", "-m", "masthead", command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done
        assert done.stderr.startswith(f"masthead {command}: "), done
        assert _REMEDY in done.stderr, done


def check_client() -> None:
    """Check that a client answers for itself, without a server to talk to."""
    pod = Pod.from_json(b'{"metadata":{"name":"a"},"spec":{"nodeName":"n1"}}')
    assert pod.spec.node_name == "n1"
    with masthead.Client(masthead.Config(server="http://127.0.0.1:9")) as client:
        try:
            client.core_v1.pods("default").get("a", timeout=5)
        except masthead.MastheadError as error:
            assert "127.0.0.1:9" in str(error), error
        else:
            raise AssertionError("nothing listens there")


def main() -> None:
    """Check everything."""
    assert Path(masthead.__file__).is_relative_to(sys.prefix), f"{masthead.__file__} is not of {sys.prefix}"
    for name in ("masthead.aio", "masthead.testing.virtual_time"):
        importlib.import_module(name)
    check_missing_server()
    check_client()


if __name__ == "__main__":
    main()
