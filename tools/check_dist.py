"""Install built distributions in fresh virtual environments and use them: ``python -m tools.check_dist FOLDER``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

_PROGRAM: Final = """
import masthead, masthead.server
from masthead.api.core.v1 import ConfigMap

with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
    maps = client.core_v1.config_maps("default")
    maps.create(ConfigMap.new("smoke", data={"a": "b"}))
    assert maps.get("smoke").data == {"a": "b"}
"""


def check(archive: Path) -> None:
    """Install one distribution and run a program with it, outside of the source tree.

    Raises:
        subprocess.CalledProcessError: If a step fails.
    """
    with tempfile.TemporaryDirectory(prefix="masthead-dist-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "Scripts" if sys.platform == "win32" else "bin", "python")
        run = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*run, str(archive.resolve())], check=True, cwd=folder)
        subprocess.run([str(python), "-I", "-c", _PROGRAM], check=True, cwd=folder)
        command = [str(python), "-I", "-m", "masthead"]
        subprocess.run([*command, "--version"], check=True, cwd=folder)
        subprocess.run([*command, "new", "smoke-operator"], check=True, cwd=folder, stdout=subprocess.DEVNULL)


def main(folder: str) -> int:
    """Check the wheel and the sdist of a folder; return the exit code."""
    archives = sorted([*Path(folder).glob("*.whl"), *Path(folder).glob("*.tar.gz")])
    if sorted(each.suffix for each in archives) != [".gz", ".whl"]:
        print(f"{folder} must contain one wheel and one sdist; run `make dist` first", file=sys.stderr)
        return 1
    for archive in archives:
        check(archive)
        print(f"{archive.name}: installed and used")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
