"""Requests that are made to cost as much as they can: long, wide, deep, numerous, in every part of a request.

Each is made of a seed and a number alone, so that one that costs too much can be sent again.
"""

from __future__ import annotations

import base64
import json
import random
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.server.calls import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH
from tests.server.metered_server import TOKEN
from tests.server.odd_objects import OddObjects

from masthead._meta import shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.server.endpoints import Endpoint

    from masthead._meta.apitype import ApiType

YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
BODY = 3 * 1024 * 1024 - 4096
"""Bytes of the largest body."""
HEAD = 1024 * 1024 - 4096
"""Bytes of the longest head."""
SIZES = (100, 3_000, 30_000, 300_000, 2_900_000)
WEIGHTS = (1, 3, 4, 3, 2)
PIECES = (
    "a", "A", "0", "9", "-", ".", "a.", "a-", "/", "a/", "%", " ", ",", "a,", "a=", "a=b,", ":", "::", "\0", "\n", "\\",
    '"', "é", "\u2028", "\U0001f600", "*", "(", "((", "a b ", "1.", "1e", "+", "0.0.0.0/", "=", "==", "{}", "[]", "<", "&",  # noqa: E501
    "-----BEGIN CERTIFICATE-----\n", "a: b\n", "@every ", "* ", "1-2,", "AAAA", "../", "~1", "$(A)", "self.", "\ud83d",
)  # fmt: skip
"""The parts of long texts."""
QUERY_NAMES = (
    "labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "timeoutSeconds",
    "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation", "gracePeriodSeconds", "propagationPolicy",
    "pretty", "watch", "nope",
)  # fmt: skip
SELECTORS = (
    "a in (%s)",
    "%s in (b)",
    "a notin (%s)",
    "%s",
    "!%s",
    "a=%s",
    "metadata.name=%s",
    "a>%s",
    "%s==%s",
)
METHODS = {
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


@dataclass(frozen=True)
class Hostile:
    """A request, as it goes over the wire."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def wire(self) -> bytes:
        names = {name.lower() for name, _ in self.headers}
        added = [("Host", "localhost"), ("Authorization", f"Bearer {TOKEN}"), ("Connection", "close")]
        if self.body:
            added.append(("Content-Length", str(len(self.body))))
        pairs = [*((name, value) for name, value in added if name.lower() not in names), *self.headers]
        text = "".join(f"{name}: {value}\r\n" for name, value in pairs)
        return f"{self.line} HTTP/1.1\r\n{text}\r\n".encode("utf-8", "surrogatepass") + self.body

    @property
    def size(self) -> int:
        """How large it counts: a JSON patch may make, by copying, what a body could bring."""
        return BODY if ("Content-Type", JSON_PATCH) in self.headers else len(self.wire)

    def __str__(self) -> str:
        shown = ", ".join(f"{name}: {value[:60]}" for name, value in self.headers[:6])
        return f"{self.line[:160]} [{shown}] {len(self.body)} bytes: {self.body[:200]!r}"


class HostileRequests:
    """Makes them.

    Args:
        endpoints: Where they go, and the class of their objects, if any.
        seed: Decides them all.
    """

    def __init__(self, endpoints: Sequence[tuple[Endpoint, ApiType | None]], seed: int) -> None:
        self._endpoints = endpoints
        self._seed = seed
        self._order = list(range(len(endpoints)))
        random.Random(seed).shuffle(self._order)

    def make(self, number: int) -> Hostile:
        """The request of a number; consecutive ones go to one endpoint after the other."""
        endpoint, cls = self._endpoints[self._order[number % len(self._order)]]
        return _One(random.Random(f"{self._seed}/{number}"), endpoint, cls).make()


class _One:
    def __init__(self, chance: random.Random, endpoint: Endpoint, cls: ApiType | None) -> None:
        self._chance = chance
        self._endpoint = endpoint
        self._cls = cls
        self._inflated = Inflated(chance)

    def make(self) -> Hostile:
        kinds: tuple[Callable[[], Hostile], ...] = (self._with_path, self._with_query, self._with_headers)
        makes_body = self._cls is not None and self._chance.random() < 0.8
        return self._with_body() if makes_body else self._chance.choice(kinds)()

    def _path(self, verb: str) -> str:
        name = "" if verb in {"create", "list", "deletecollection"} and "/" not in self._endpoint.name else "a"
        return self._endpoint.path("fuzz", name)

    def _verb(self) -> str:
        return self._chance.choice([verb for verb in self._endpoint.verbs if verb != "watch"] or ["get"])

    def _with_path(self) -> Hostile:
        long = urllib.parse.quote(self._inflated.text(HEAD // 3), safe="/%~.,=:", errors="replace")
        where = self._chance.choice((f"/{long}", f"/api/v1/{long}", self._endpoint.path(long, "a")))
        path = self._chance.choice((where, self._endpoint.path("fuzz", long or "a")))[:HEAD]
        return Hostile(f"{METHODS.get(self._verb(), 'GET')} {path}", (), b"")

    def _with_query(self) -> Hostile:
        chance = self._chance
        name = chance.choice(QUERY_NAMES)
        long = self._inflated.text(HEAD // 4)
        value = chance.choice(
            (
                long,
                chance.choice(SELECTORS).replace("%s", long[: HEAD // 8]),
                ",".join([chance.choice(("a", "a=b", "a in (b)", "!a"))] * chance.choice((10, 1000, 50_000))),
                base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":1,"start":"' + b"a" * 100_000 + b'"}').decode(),
                chance.choice(("9", "0", "-", "1_")) * chance.choice((10, 4_300, 100_000)),
            )
        )
        query = urllib.parse.urlencode({name: value}, errors="replace")[:HEAD]
        if chance.random() < 0.3:
            query = "&".join([query[: chance.choice((5, 50))]] * chance.choice((100, 10_000)))[:HEAD]
        verb = self._verb()
        return Hostile(f"{METHODS.get(verb, 'GET')} {self._path(verb)}?{query}", (), b"")

    def _with_headers(self) -> Hostile:
        chance = self._chance
        name = chance.choice(("Accept", "Content-Type", "Authorization", "User-Agent", "Host", "Origin", "X", "Cookie"))
        long = "".join(each for each in self._inflated.text(HEAD // 4) if each.isprintable())
        ranges = ",".join([f"{JSON};q=0.{chance.randrange(9)}"] * chance.choice((10, 1000, 30_000)))
        parameters = f"{JSON}" + ";a=b" * chance.choice((10, 1000, 100_000))
        bearer = chance.choice(("Bearer ", "Basic ", "")) + long
        value = chance.choice((long, ranges, parameters, bearer))[: HEAD // 2]
        many = tuple((f"X-{number}", "y") for number in range(chance.choice((0, 0, 900))))
        body = b"{}" if chance.random() < 0.5 else b""
        verb = self._verb()
        return Hostile(f"{METHODS.get(verb, 'GET')} {self._path(verb)}", ((name, value), *many), body)

    def _with_body(self) -> Hostile:
        chance = self._chance
        verbs = [verb for verb in self._endpoint.verbs if verb in METHODS]
        verb = chance.choice(verbs or ["create"])
        size = chance.choices(SIZES, WEIGHTS)[0]
        if verb == "patch":
            body, media = self._patch(size)
        else:
            body, media = self._object(size)
        # Nothing of it is to stay, or reading it would be what costs.
        query = chance.choice(("dryRun=All", "dryRun=All&fieldValidation=Strict", "dryRun=All&pretty=1"))
        if media == APPLY_PATCH:
            query += f"&fieldManager=one&force={chance.choice(('true', 'false'))}"
        accept = chance.choice((JSON, JSON, YAML, f"{JSON};as=PartialObjectMetadata;v=v1;g=meta.k8s.io"))
        headers = (("Content-Type", media), ("Accept", accept))
        return Hostile(f"{METHODS[verb]} {self._path(verb)}?{query}", headers, body[:BODY])

    def _document(self, size: int) -> dict[str, Any]:
        assert self._cls is not None
        kind = self._endpoint.kind
        found = self._inflated.of(self._cls, size)
        metadata = found.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        if len(str(metadata.get("name", ""))) < 100:
            metadata["name"] = "a"
        return {**found, "kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}

    def _object(self, size: int) -> tuple[bytes, str]:
        chance = self._chance
        kind = self._endpoint.kind
        odds = chance.random()
        if odds < 0.08:
            return protobuf(chance, kind.api_version, kind.kind, size), PROTOBUF
        if odds < 0.16:
            return aliases(chance, size), YAML
        if odds < 0.24:
            return text_of_json(chance, size), chance.choice((JSON, YAML))
        return _encoded(self._document(size)), YAML if odds < 0.4 and size < 100_000 else JSON

    def _patch(self, size: int) -> tuple[bytes, str]:
        odds = self._chance.random()
        if odds < 0.3:
            return _encoded(self._document(size)), MERGE_PATCH
        if odds < 0.65:
            return self._configuration(size), APPLY_PATCH
        return json_patch(self._chance, self._inflated, size), JSON_PATCH

    def _configuration(self, size: int) -> bytes:
        chance = self._chance
        odds = chance.random()
        if odds < 0.15:
            return aliases(chance, size)
        return text_of_json(chance, size) if odds < 0.3 else _encoded(self._document(size))


class Inflated:
    """Makes objects of a class of which one part is as large as it may be."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._odd = OddObjects(chance)

    def text(self, size: int) -> str:
        """A long text."""
        piece = self._chance.choice(PIECES)
        end = self._chance.choice(("", "", "!", "a", "-", '"'))
        length = self._chance.choices((size, size // 10, 253, 63, 4_301), (4, 2, 1, 1, 1))[0]
        return (piece * (length // len(piece.encode("utf-8", "surrogatepass")) + 1))[:length] + end

    def of(self, cls: ApiType, size: int) -> dict[str, Any]:
        """An object with a part of about so many bytes."""
        found = self._odd.of(cls)
        owner, fields = found, shape.fields_of(cls)
        for _ in range(self._chance.choice((1, 2, 3, 5, 8))):
            often = [wire for wire in ("spec", "template", "containers") if wire in fields]
            wire = self._chance.choice(often if often and self._chance.random() < 0.5 else list(fields) or [""])
            if not wire:
                break
            described = _bare(fields[wire].shape)
            goes_into_list = isinstance(described, shape.ListShape) and self._chance.random() < 0.6
            inner = _bare(described.item) if goes_into_list else described
            if not isinstance(inner, shape.StructShape):
                owner[wire] = self._large(described, size)
                return found
            below = owner.get(wire)
            below = below if isinstance(below, dict) else self._odd.of(inner.cls, 5)
            owner[wire] = [below] if goes_into_list else below
            owner, fields = below, shape.fields_of(inner.cls)
        owner[self._chance.choice(("unknown", "metadata", "spec"))] = self._anything(size)
        return found

    def _large(self, described: Any, size: int) -> Any:
        match described:
            case shape.ListShape():
                return self._repeated(lambda: self._small(described.item), size)
            case shape.MapShape():
                values = self._repeated(lambda: self._small(described.value), size, extra=12)
                style = self._chance.choice(("k%d", "example.com/k%d", "K_%d", "%d", "limits.%d"))
                return {style % number: value for number, value in enumerate(values)}
            case _:
                return self._chance.choice((self.text(size), self._anything(size), self.text(size)))

    def _small(self, described: Any) -> Any:
        described = _bare(described)
        match described:
            case shape.StructShape():
                return self._odd.of(described.cls, self._chance.choice((5, 7, 8)))
            case shape.ListShape() | shape.MapShape():
                return self._chance.choice(({}, [], None))
            case _:
                return self._chance.choice(("", "a", "10.0.0.1", 0, 80, self._odd.odd()))

    def _repeated(self, make: Callable[[], Any], size: int, *, extra: int = 1) -> list[Any]:
        """So many that they take about so many bytes; a few are made, and come again and again, some numbered."""
        made = [make() for _ in range(self._chance.choice((1, 5)))]
        length = max(1, sum(len(_encoded(each)) + extra for each in made) // len(made))
        found = [made[number % len(made)] for number in range(size // length + 1)]
        if all(isinstance(each, dict) for each in made) and self._chance.random() < 0.5:
            found = [{**each, "name": f"n{number}"} for number, each in enumerate(found[: size // (length + 14) + 1])]
        return found

    def _anything(self, size: int) -> Any:
        chance = self._chance
        depth = chance.choice((10, 100, 480, 700, 9_000))
        deep: Any = "x"
        if size > 20 * depth and depth < 900:
            for number in range(depth):
                deep = [deep] if number % 2 else {"a": deep}
        return chance.choice(
            (
                lambda: [chance.choice(([], {}, 0, "", None, [0]))] * (size // 4),
                lambda: {f"k{number}": 0 for number in range(size // 10)},
                lambda: int("9" * min(size, 4_200)),
                lambda: self.text(size),
                lambda: deep,
            )
        )()


def _bare(described: Any) -> Any:
    """A shape that is not null."""
    while isinstance(described, shape.NullableShape):
        described = described.shape
    return described


def json_patch(chance: random.Random, inflated: Inflated, size: int) -> bytes:
    """Many operations, copies that double, or long pointers."""
    pointer = chance.choice(("/metadata/labels", "/spec", "/metadata", "", "/a/b/c", "/metadata/annotations/x"))
    style = chance.randrange(4)
    if style == 0:
        step: dict[str, Any] = {
            "op": chance.choice(("test", "add", "remove", "copy", "move", "replace")),
            "path": pointer,
        }
        step |= {"from": pointer, "value": chance.choice((0, {}, [], "x"))}
        return _encoded([step] * (size // len(_encoded(step)) + 1))
    if style == 1:
        begin = [{"op": "add", "path": "/metadata/annotations", "value": {"a": "x" * min(size, 100_000)}}]
        doubling = [
            {"op": "copy", "from": "/metadata/annotations", "path": f"/metadata/annotations/{number}"}
            for number in range(chance.choice((5, 20, 40, 1000)))
        ]
        return _encoded(begin + doubling)
    if style == 2:
        return _encoded([{"op": "add", "path": inflated.text(size // 2), "value": 0}])
    appended = [
        {
            "op": "add",
            "path": chance.choice(("/metadata/finalizers/0", "/metadata/finalizers/-")),
            "value": "a",
        }
    ]
    return _encoded([{"op": "add", "path": "/metadata/finalizers", "value": []}, *appended * (size // 60)])


def aliases(chance: random.Random, size: int) -> bytes:
    """Short YAML that expands to a large document."""
    levels = chance.choice((2, 5, 9, 30))
    width = chance.choice((2, 9, 50))
    seed = chance.choice(("x", "x" * min(size, 100_000), "[]", "{a: b}"))
    lines = [f"a0: &a0 [{seed}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    if chance.random() < 0.5:
        lines = [f"a: &a {seed}", "data:", *(f"  k{n}: *a" for n in range(min(size, 1_000_000) // 12))]
    return "\n".join(["metadata: {name: a}", *lines]).encode()


def text_of_json(chance: random.Random, size: int) -> bytes:
    """Text that JSON's and YAML's readers have to go through to its end, or nearly."""
    begin, piece, end = chance.choice(
        (
            ("", "[", ""),
            ("", '{"a":', ""),
            ("[", "[],", "0]"),
            ("[", "{},", "0]"),
            ("[", "0,", "0]"),
            ("[", '"",', "0]"),
            ('{"a":"', "\\u0041", '"}'),
            ('{"a":"', '\\"', ""),
            ('"', '\\"', ""),
            ("{", '"a":0,', '"b":0}'),
            ('{"a":', "9", "}"),
            ('{"a":0.', "0", "1}"),
            ('{"a":1e', "9", "}"),
            ("", " ", ""),
            ("", "\n", "{}"),
            ("", "- ", "a"),
            ("", "a: ", "b"),
            ("", "a:\n", ""),
            ("", "# x\n", "a: b"),
            ("a: |\n", "  x\n", ""),
            ("", "---\n", "a: b"),
            ("", "? ", "a"),
            ("a: '", "''", "'"),
            ("", "!!x ", "a"),
            ("", "&a ", "b"),
            ('{"metadata":{"name":"a"},"data":{"a":"', "{[,:", '"}}'),
        )
    )
    return f"{begin}{piece * max(0, (size - len(begin) - len(end)) // len(piece))}{end}".encode()


def protobuf(chance: random.Random, api_version: str, kind: str, size: int) -> bytes:
    """An envelope around many small fields, deep ones, or noise."""

    def field(number: int, content: bytes) -> bytes:
        return _varint(number << 3 | 2) + _varint(len(content)) + content

    tag = chance.choice((1, 1, 2, 2, 3, 5, 11))
    small = chance.choice((b"", field(1, b""), field(1, b"a"), field(2, field(1, b"")), b"\x08\x01", b"\xff"))
    piece = field(tag, small)
    raw = piece * (size // len(piece))
    if chance.random() < 0.3:
        raw = b""
        for _ in range(chance.choice((50, 500, 5000))):
            raw = field(tag, raw)
    elif chance.random() < 0.5:
        raw = field(1, field(1, b"a")) + field(2, raw)
    known = field(1, field(1, api_version.encode()) + field(2, kind.encode()))
    return b"k8s\0" + known + field(2, raw)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
