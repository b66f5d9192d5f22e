"""Records the pictures of the command line in the documentation: ``python -m tools.pictures [NAME...]``.

It starts an embedded server in which deployments roll and pods run, runs the real commands at a terminal of a fixed
size, and writes what they show as SVG to ``docs/assets``: ``watch.svg``, ``tree.svg``, ``doctor.svg`` and the
animated ``demo.svg``.
Names of objects and the ids in the files are the same every time, ages and addresses are not. So it is run by hand when
a command looks different, needs the extras ``cli`` and ``dev`` and a POSIX system, and takes about a minute. Look
at the pictures afterwards::

    rsvg-convert docs/assets/watch.svg -o /tmp/watch.png -w 1400
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import html
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

import masthead
import masthead.server
from masthead.meta import Patch
from tools.animated_picture import Frame, animate

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from masthead.server import Server

ASSETS: Final = Path(__file__).resolve().parents[1] / "docs" / "assets"
MAX_BYTES: Final = 100_000
_ERASED: Final = re.compile(r"(?:\x1b\[\d*A|\r|\x1b\[2K)+")
"""How a live view goes back to the top of its last frame."""
_OTHER: Final = re.compile(r"\x1b\[\?\d+[hl]")
_COLORS: Final = re.compile(r"\x1b\[[0-9;]*m")
_FONT_FACE: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_TEXT: Final = re.compile(
    r'<text class="([^"]+)" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+" clip-path="([^"]+)">([^<]+)</text>'
)
_BLANKS: Final = re.compile("(?:&#160;){2,}|^&#160;|&#160;$")
_PARTS: Final = re.compile(f"({_BLANKS.pattern}|─{{8}})")
_CHAPTER: Final = re.compile(r"Chapter \d+")
_SECONDS_PER_FRAME: Final = 2.5
_FINAL_SECONDS: Final = 7.5
_WIDTH: Final = 12.2
"""The width of a character in pictures of rich."""
_PATIENCE: Final = 60.0

SHOP: Final = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: websites, singular: website, kind: Website}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    additionalPrinterColumns:
    - {name: Ready, type: string, jsonPath: .status.ready}
    - {name: Phase, type: string, jsonPath: .status.phase}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
"""


@dataclass(frozen=True)
class Shot:
    """The command and the terminal of a recording.

    Attributes:
        command: The arguments of ``masthead``.
        rows: The height of the terminal.
        columns: The width of the terminal.
        is_live: Whether it runs until it is interrupted.
    """

    command: Sequence[str]
    rows: int
    columns: int
    is_live: bool = True


class Recording:
    """A command in a separate terminal; to be used in ``with``.

    Args:
        shot: The command and its terminal.
        environ: Its environment.
    """

    def __init__(self, shot: Shot, environ: Mapping[str, str]) -> None:
        self._shot = shot
        self._environ = {**environ, "TERM": "xterm-256color"}
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.output = ""

    def __enter__(self) -> Self:
        self._screen, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", self._shot.rows, self._shot.columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "masthead", *self._shot.command],
            stdin=inner,
            stdout=inner,
            # Without a terminal there, no progress bar is drawn over the lines of a result.
            stderr=inner if self._shot.is_live else subprocess.DEVNULL,
            env=self._environ,
            start_new_session=True,
        )
        os.close(inner)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._screen)

    def read(self, seconds: float) -> None:
        """Record the output of some seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self._take(left):
            pass

    def read_until(self, wanted: str) -> None:
        """Record the output until a text appears."""
        end = time.monotonic() + _PATIENCE
        while wanted not in _COLORS.sub("", self.output):
            if time.monotonic() > end or not self._take(1.0):
                raise SystemExit(f"{wanted!r} was not shown: {self.output}")

    def _take(self, timeout: float) -> bool:
        if not select.select([self._screen], [], [], timeout)[0]:
            return self._process.poll() is None
        try:
            data = os.read(self._screen, 65536)
        except OSError:  # the command has ended
            return False
        self.output += self._decoder.decode(data).replace("\r\n", "\n")
        return bool(data)

    @property
    def frames(self) -> list[str]:
        """The recorded frames in order; a command that is not live has one."""
        text = _OTHER.sub("", self.output)
        return [part for part in _ERASED.split(text) if part.strip()]


def picture(text: str, *, name: str, title: str, columns: int) -> str:
    """Return text with colours as an SVG of a terminal.

    Args:
        text: What the terminal shows.
        name: What ids in the picture begin with.
        title: The title of its window.
        columns: The width of the terminal.
    """
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(text.rstrip("\n")), soft_wrap=False, no_wrap=True, overflow="ellipsis")
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id=f"masthead-{name}")
    # The picture loads nothing: it uses a font of the viewer.
    svg = _TEXT.sub(_place, _FONT_FACE.sub("", svg))
    return svg.replace("Fira Code, monospace", "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace")


def _place(found: re.Match[str]) -> str:
    """Position each part of a text separately: some viewers drop leading blanks, or have another font."""
    style, left, top, clip, content = found.groups()
    parts: list[str] = []
    at = 0
    for part in _PARTS.split(content):
        length = len(html.unescape(part))
        if part and not _BLANKS.fullmatch(part):
            x, width = float(left) + at * _WIDTH, length * _WIDTH
            place = f'x="{x:g}" y="{top}" textLength="{width:g}" clip-path="{clip}"'
            parts.append(f'<text class="{style}" {place}>{part}</text>')
        at += length
    return "".join(parts)


@contextmanager
def shop(*, tls: bool = False) -> Generator[tuple[Server, masthead.Client, dict[str, str]]]:
    """A server with a website that owns a deployment, and the environment of commands for it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        masthead.server.run(workloads=True, kubelet=True, seed=7, tls=tls) as server,
        masthead.Client(kubeconfig=server.kubeconfig(), namespace="shop") as client,
    ):
        config = server.write_kubeconfig(Path(folder) / "config")
        client.apply_manifests(SHOP, field_manager="pictures")
        environ = {
            **{key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "LINES"}},
            "HOME": folder,
            "KUBECONFIG": str(config),
            "XDG_CACHE_HOME": folder,
        }
        _create_website(client)
        yield server, client, environ


def _create_website(client: masthead.Client) -> None:
    websites = client.dynamic("example.com/v1", "websites", namespace="shop")
    site = websites.create({"metadata": {"name": "shop-front"}, "spec": {"domain": "shop.example.com"}})
    websites.patch("shop-front", Patch.merge({"status": {"ready": "True", "phase": "Serving"}}))
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "Website",
        "name": "shop-front",
        "uid": site.metadata.uid,
        "controller": True,
    }
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]}}
    metadata = {"name": "web", "ownerReferences": [owner]}
    spec = {"replicas": 4, "selector": {"matchLabels": labels}, "template": pod}
    client.dynamic("apps/v1", "deployments", namespace="shop").create({"metadata": metadata, "spec": spec})
    client.dynamic("v1", "configmaps", namespace="shop").create({"metadata": metadata, "data": {}})
    ports = {"selector": labels, "ports": [{"port": 80}]}
    client.dynamic("v1", "services", namespace="shop").create({"metadata": metadata, "spec": ports})


def _roll(client: masthead.Client, image: str) -> None:
    """Let the deployment roll to another image."""
    patch = Patch.strategic({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}})
    client.apps_v1.deployments("shop").patch("web", patch)


def record_watch() -> tuple[str, Shot]:
    """A deployment rolls while its pods are watched."""
    shot = Shot(["watch", "pods", "-n", "shop"], rows=20, columns=84)
    with shop() as (_, client, environ), Recording(shot, environ) as recording:
        recording.read_until("4 objects")
        recording.read(2.0)
        _roll(client, "nginx:1.28")
        recording.read(1.2)
        return recording.frames[-1], shot


def record_tree() -> tuple[str, Shot]:
    """The tree of a website, after its deployment has rolled."""
    shot = Shot(["tree", "website/shop-front", "-n", "shop", "-w"], rows=24, columns=84)
    with shop() as (_, client, environ):
        _roll(client, "nginx:1.28")
        with Recording(shot, environ) as recording:
            recording.read_until("watching the tree")
            recording.read(1.5)
            client.apps_v1.deployments("shop").patch("web", Patch.merge({"spec": {"replicas": 5}}))
            recording.read(2.5)
            return recording.frames[-1], shot


def record_doctor() -> tuple[str, Shot]:
    """A server that is well, and a namespace that is not there."""
    shot = Shot(["doctor", "-n", "shpo"], rows=40, columns=110, is_live=False)
    with shop(tls=True) as (_, __, environ), Recording(shot, environ) as recording:
        recording.read_until("failed")
        # The folder of a recording means nothing to anybody.
        text = recording.output.replace(environ["HOME"], "~/.kube")
        return text.strip("\n"), shot


def record_demo() -> tuple[list[str], Shot]:
    """The demo: two moments of each chapter, and the final screen."""
    shot = Shot(["demo"], rows=24, columns=80)
    environ = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "LINES"}}
    with tempfile.TemporaryDirectory() as folder:
        # The final screen calls the program as it is found on the path.
        (Path(folder) / "masthead").symlink_to(Path(sys.executable).with_name("masthead"))
        environ["PATH"] = f"{folder}{os.pathsep}{environ['PATH']}"
        with Recording(shot, environ) as recording:
            recording.read_until("Try next:")
            recording.read(1.0)
            return choose_moments(recording.frames), shot


def choose_moments(frames: Sequence[str]) -> list[str]:
    """Choose for each chapter the last frame with its fault in effect, and its last one; and the final screen. Pure."""
    chosen: dict[tuple[str, bool], str] = {}
    for frame in frames:
        text = _COLORS.sub("", frame)
        if chapter := _CHAPTER.search(text):
            chosen[chapter[0], ": recovering" not in text] = frame
    return [*(chosen[key] for key in sorted(chosen)), frames[-1]]


def animated(frames: Sequence[str], *, name: str, title: str, shot: Shot) -> str:
    """Return frames as an animated SVG of a terminal; the last one stays longer, and the one before is the poster."""
    height = max(frame.strip("\n").count("\n") + 1 for frame in frames)
    pictures: list[Frame] = []
    for frame in frames:
        text = frame.strip("\n")
        # Blank lines make all frames as high as the highest.
        filled = text + "\n " * (height - text.count("\n") - 1)
        svg = picture(filled, name=name, title=title, columns=shot.columns)
        pictures.append(Frame(svg, _FINAL_SECONDS if frame is frames[-1] else _SECONDS_PER_FRAME))
    return animate(pictures, name=f"masthead-{name}", poster=len(frames) - 2)


RECORDERS: Final[Mapping[str, Callable[[], tuple[str | list[str], Shot]]]] = {
    "watch": record_watch,
    "tree": record_tree,
    "doctor": record_doctor,
    "demo": record_demo,
}


def main(arguments: Sequence[str]) -> int:
    """Record pictures; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures", description="Records docs/assets/*.svg.")
    parser.add_argument("names", nargs="*", choices=[*RECORDERS, []], help="which pictures (all)")
    chosen = parser.parse_args(arguments).names or list(RECORDERS)
    ASSETS.mkdir(exist_ok=True)
    for name in chosen:
        shown, shot = RECORDERS[name]()
        title = f"masthead {' '.join(shot.command)}"
        if isinstance(shown, str):
            svg = picture(shown, name=name, title=title, columns=shot.columns)
        else:
            svg = animated(shown, name=name, title=title, shot=shot)
        if len(svg.encode()) > MAX_BYTES:
            raise SystemExit(f"{name}.svg has {len(svg.encode())} bytes; {MAX_BYTES} are allowed")
        (ASSETS / f"{name}.svg").write_text(svg, "utf-8")
        print(f"{ASSETS / name}.svg: {len(svg.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
