"""A request as the rooms behind HTTP see it, and their answer."""

from __future__ import annotations

import re
from binascii import a2b_qp
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead._server.wire.failures import Failure

__all__ = [
    "BAD_ESCAPE",
    "JSON_TYPE",
    "Answer",
    "Request",
    "Target",
    "json_answer",
    "parse_path",
    "parse_query",
    "refusal",
    "warning_header",
]

JSON_TYPE: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked.

    Attributes:
        method: ``GET`` and so on.
        path: Percent-encoded, without the query.
        query: Every value of every parameter, in order.
        headers: By lower-case name.
        body: All of it.
        document: Gives what the body says, if that was read already, or raises what was wrong with it.
    """

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = field(default_factory=dict[str, list[str]])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    document: Callable[[], object] | None = field(default=None, compare=False, repr=False)

    def first(self, name: str) -> str:
        """The first value of a parameter, which is the one that counts; empty if there is none."""
        values = self.query.get(name)
        return values[0] if values else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client gets."""

    code: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()


def json_answer(code: int, body: object, *, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """Answer with something written as JSON."""
    return Answer(code, msgspec.json.encode(body), headers=headers)


def refusal(failure: Failure, warnings: Sequence[str] = ()) -> Answer:
    """Answer with a failure's Status."""
    headers = [warning_header(each) for each in warnings]
    if failure.retry_after is not None:
        headers.append(("Retry-After", str(failure.retry_after)))
    return json_answer(failure.code, failure.status(), headers=tuple(headers))


def warning_header(text: str) -> tuple[str, str]:
    """Tell the client something that it should know."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return "Warning", f'299 - "{escaped}"'


@dataclass(frozen=True, slots=True)
class Target:
    """What a path points at.

    Attributes:
        group: Empty for the core group.
        version: ``v1``.
        resource: The plural; empty if the path ends with the version.
        namespace: Empty for all of them, or for a resource that has none.
        name: Empty for the whole collection.
        subresource: ``status`` and so on.
        is_watch: Whether the path has the old ``/watch/`` in it.
        tail: What comes after the subresource: only proxies have that.
    """

    group: str
    version: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    is_watch: bool = False
    tail: tuple[str, ...] = ()


_PARTS_OF_NAMESPACES: Final = frozenset({"status", "finalize"})
"""After ``/namespaces/NAME/``, these are parts of the namespace; anything else is a resource within it."""


_MOST_STEPS: Final = 16
"""More than any path has that leads somewhere; what comes behind them stays together."""
BAD_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")


def parse_query(text: str) -> dict[str, list[str]]:
    """Read a query as Go does: a pair that cannot be decoded is passed over."""
    found: dict[str, list[str]] = {}
    for pair in text.split("&"):
        if not pair or ";" in pair or BAD_ESCAPE.search(pair):
            continue
        name, _, value = pair.partition("=")
        found.setdefault(_unescaped(name.replace("+", " ")), []).append(_unescaped(value.replace("+", " ")))
    return found


def _unescaped(text: str) -> str:
    """Decode percent escapes, all of which must be right.

    The standard library's way takes eighty times the memory of a text that is nothing but escapes. Quoted-printable
    is decoded in C and differs in the sign alone.
    """
    if "%" not in text and text.isascii():
        return text
    quoted = text.encode("utf-8", "surrogateescape").replace(b"=", b"=3D").replace(b"%", b"=")
    return a2b_qp(quoted).decode("utf-8", "replace")


def parse_path(path: str) -> Target | None:
    """Read a path under ``/api/`` or ``/apis/``; None for one that does not reach a version."""
    # An escaped slash is a slash: the real server looks at the path after decoding it.
    steps = _unescaped(path).removeprefix("/").rstrip("/").split("/", _MOST_STEPS)
    if len(steps) >= 2 and steps[0] == "api":
        group, version, rest = "", steps[1], steps[2:]
    elif len(steps) >= 3 and steps[0] == "apis":
        group, version, rest = steps[1], steps[2], steps[3:]
    else:
        return None
    is_watch = bool(rest) and rest[0] == "watch"
    if is_watch:
        rest = rest[1:]
    namespace = ""
    if rest and rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _PARTS_OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    padded = [*rest, "", "", ""]
    return Target(
        group=group,
        version=version,
        resource=padded[0],
        namespace=namespace,
        name=padded[1],
        subresource=padded[2],
        is_watch=is_watch,
        tail=tuple(rest[3:]),
    )
