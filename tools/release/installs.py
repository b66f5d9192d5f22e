"""Installs archives in clean environments, and uses them: ``python -m tools.release.installs FOLDER``."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Generator

_SMOKE: Final = Path(__file__).with_name("smoke.py").resolve()
_SMOKE_ALONE: Final = Path(__file__).with_name("smoke_alone.py").resolve()
_INVENTORY: Final = Path(__file__).with_name("inventory.py").resolve()


class InstallError(Exception):
    """A step failed; the message has its output."""


@dataclasses.dataclass(frozen=True)
class Archives:
    """The archives of a release, of one kind: wheels or sdists.

    Attributes:
        library: The archive of the library.
        server: The archive of the embedded server.
    """

    library: Path
    server: Path

    @property
    def version(self) -> str:
        """The version of the release, from the name of a file."""
        return self.library.name.split("-")[1].removesuffix(".tar.gz")


@contextlib.contextmanager
def installed(interpreter: Path, *archives: Path, extras: tuple[str, ...] = ()) -> Generator[Path]:
    """Install archives in a clean environment; return the folder of its programs.

    Args:
        interpreter: The Python of the environment.
        archives: The archives.
        extras: Extras of the first archive.

    Raises:
        InstallError: If that fails.
    """
    with tempfile.TemporaryDirectory(prefix="masthead-release-") as folder:
        _run([str(interpreter), "-m", "venv", folder], folder)
        programs = Path(folder, "Scripts" if sys.platform == "win32" else "bin")
        paths = [str(archive.resolve()) for archive in archives]
        if extras:
            paths[0] += f"[{','.join(extras)}]"
        pip = [str(programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "install", *paths], folder)
        yield programs


def use(archives: Archives, interpreter: Path) -> None:
    """Install the library alone and together with the server, and use them outside of the source tree.

    Raises:
        InstallError: If a step fails.
    """
    with installed(interpreter, archives.library) as programs, tempfile.TemporaryDirectory() as folder:
        python = str(programs / "python")
        _run([python, "-I", "-W", "error", str(_SMOKE_ALONE)], folder)
        output = _run([str(programs / "masthead"), "--version"], folder)
        if output.strip() != f"masthead {archives.version}":
            raise InstallError(f"masthead --version prints {output.strip()!r}")
        _run([python, "-I", "-m", "masthead", "new", "smoke-operator"], folder)
    with (
        installed(interpreter, archives.library, archives.server) as programs,
        tempfile.TemporaryDirectory() as folder,
    ):
        _run([str(programs / "python"), "-I", "-W", "error", str(_SMOKE)], folder)


def inventory(archives: Archives, interpreter: Path, extras: tuple[str, ...]) -> list[dict[str, Any]]:
    """List the distributions of an environment with library, server and extras (`tools.release.inventory`).

    Raises:
        InstallError: If they cannot be installed.
    """
    with installed(interpreter, archives.library, archives.server, extras=extras) as programs:
        found: list[dict[str, Any]] = json.loads(_run([str(programs / "python"), "-I", str(_INVENTORY)], "."))
    return found


def archives_of(folder: Path) -> tuple[Archives, Archives]:
    """Return the wheels and the sdists of a folder.

    Raises:
        InstallError: If the folder does not have exactly one wheel and one sdist of library and server.
    """
    found = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    servers = [path for path in found if path.name.startswith("masthead_k8s_server-")]
    libraries = [path for path in found if path not in servers]
    if any([path.suffix for path in paths] != [".whl", ".gz"] for paths in map(_wheel_first, (libraries, servers))):
        raise InstallError(f"{folder} must have a wheel and an sdist of library and server; run `make dist` first")
    wheels, sdists = zip(_wheel_first(libraries), _wheel_first(servers), strict=True)
    return Archives(*wheels), Archives(*sdists)


def _wheel_first(paths: list[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: path.suffix, reverse=True)


def _run(command: list[str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise InstallError(f"{' '.join(command)} ended with exit status {done.returncode}:\n{done.stdout}")
    return done.stdout


def main(folder: str) -> int:
    """Use the wheels and the sdists of a folder with this Python; return the exit code."""
    try:
        for archives in archives_of(Path(folder)):
            use(archives, Path(sys.executable))
            print(f"{archives.library.name} and {archives.server.name}: installed and used")
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
