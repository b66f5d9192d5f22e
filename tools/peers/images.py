"""Handlers for the images of the suites, with the server's public controls: the server itself runs no images."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

    from masthead.server import BlockingExecProcess, ExecProcess, Server

__all__ = ["IMAGES", "simulate_images"]

IMAGES: Final = """
- `nginx`: port 80 of every pod answers with nginx's page, and with the files that `dd` has written below
  `/usr/share/nginx/html`.
- `python`, with the official client's `port_server.py`: ports 1234 and 1235 of every pod echo.
- `python3 -c` runs with this machine's Python. Its requests to pods get a redirect, as from JupyterHub's single-user
  server, and certificates are not verified. So kubespawner's tests of TLS and of the network between pods prove nothing
  about these.

Some suites need more than a cluster:

- kr8s: its `KindCluster` is the running server (`like="kind"`), requests take 5 ms, and pods 0.5 s to start, because
  its tests expect pods that are not ready yet.
- lightkube: the objects of a metrics-server.
- kopf: its dependency oscrypto cannot read the version of current OpenSSL releases; warnings about TLS connections
  that aiohttp closes late are not errors.
- kr8s and kubespawner: older dependencies, listed in `tools/peers/suites.py`.
"""

_DOCUMENTS: Final = PurePosixPath("/usr/share/nginx/html")
_PAGE: Final = b"<!DOCTYPE html><html><body><h1>Welcome to nginx!</h1></body></html>\n"
_SIZES: Final = {"": 1, "c": 1, "K": 1 << 10, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_CHUNK: Final = 1 << 16
_STAND_INS: Final = Path(__file__).with_name("stand_ins")
_PYTHON_SECONDS: Final = 60


def simulate_images(server: Server) -> None:
    """Register the handlers."""
    nginx = Nginx()
    server.kubelet.listen("*", 80, nginx.answer)
    server.kubelet.exec("*", command="dd")(nginx.write_with_dd)
    for port in (1234, 1235):
        server.kubelet.listen("*", port, _echo)
    server.kubelet.exec("*", command="python3")(_run_python)


class Nginx:
    """A web server with one document root for all pods."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        while request := await reader.readline():
            while (await reader.readline()).strip():
                pass
            path = request.split()[1].decode("ascii", "replace")
            if path == "/":
                _write_head(writer, "200 OK", len(_PAGE))
                writer.write(_PAGE)
            elif (size := self._sizes.get(path)) is not None:
                _write_head(writer, "200 OK", size)
                for start in range(0, size, _CHUNK):
                    writer.write(bytes(min(_CHUNK, size - start)))
                    await writer.drain()
            else:
                _write_head(writer, "404 Not Found", 0)
            await writer.drain()

    async def write_with_dd(self, process: ExecProcess) -> int:
        """Run ``dd if=… of=… bs=… count=…``: record the size of the file that nginx has to serve."""
        operands = dict(argument.split("=", 1) for argument in process.argv[1:])
        unit = operands.get("bs", "512")
        size = int(unit.rstrip("ckKMG")) * _SIZES[unit.lstrip("0123456789")] * int(operands.get("count", "1"))
        target = PurePosixPath(operands["of"])
        if target.is_relative_to(_DOCUMENTS):
            self._sizes[f"/{target.relative_to(_DOCUMENTS)}"] = size
        await process.stderr.write(f"{size} bytes copied\n".encode())
        return 0


def _write_head(writer: asyncio.StreamWriter, status: str, size: int) -> None:
    writer.write(f"HTTP/1.1 {status}\r\nServer: nginx\r\nContent-Length: {size}\r\n\r\n".encode())


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()


def _run_python(process: BlockingExecProcess) -> int:
    """Run ``python3 -c PROGRAM`` on this machine, with the network of pods."""
    flag, program = process.argv[1:3]
    if flag != "-c":
        process.stderr.write(f"python3: {flag}: only -c is simulated\n")
        return 2
    command = (sys.executable, "-c", f"import pod_network\n{program}")
    environ = {"PYTHONPATH": str(_STAND_INS)}
    ended = subprocess.run(command, env=environ, capture_output=True, timeout=_PYTHON_SECONDS, check=False)
    process.stdout.write(ended.stdout)
    process.stderr.write(ended.stderr)
    return ended.returncode
