"""Objects of any kind with the right fields and the oddest values, to lead validation into every corner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from masthead._meta import shape
from masthead._meta.time import MicroTime

if TYPE_CHECKING:
    import random

    from masthead._meta.apitype import ApiType

TEXTS = (
    "",
    "a",
    "web-1",
    "A_b",
    "x" * 300,
    "a/b",
    "..",
    "%",
    "*",
    "*.example.com",
    "example.com/a",
    "kubernetes.io/x",
    "10.0.0.1",
    "::1",
    "10.0.0.0/24",
    "fe80::/10",
    "80",
    "http",
    "-1",
    "100Mi",
    "1e999",
    "0.5",
    "TCP",
    "Always",
    "Never",
    "ClusterIP",
    "NodePort",
    "ExternalName",
    "LoadBalancer",
    "None",
    "RollingUpdate",
    "Exists",
    "In",
    "Block",
    "ReadWriteOnce",
    "v1",
    "Pod",
    "\0",
    "é\U0001f600",
    "\u2028<&>",
    "* * * * *",
    "{",
    "self.x == 1",
)
NUMBERS = (0, 1, -1, 2, 7, 80, 443, 30000, 65535, 65536, 2**31 - 1, -(2**31))
TIMES = (
    "2026-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59+14:00",
    "1969-12-31T23:59:59-01:30",
)
BY_WORDS: dict[str, tuple[Any, ...]] = {
    "a string": TEXTS,
    "an integer": NUMBERS,
    "an integer or a string": (*NUMBERS, *TEXTS),
    "a number": (*NUMBERS, 0.5, 1e300),
    "true or false": (True, False),
    "base64 text": ("", "eA==", "/+8=", "AAAA"),
    "a quantity": ("1", "100Mi", "-1", "0.5", "1e3", "1m", "999999999999999999999Ei", 7, "+.5k"),
    "an RFC 3339 time": TIMES,
}
"""Values that a field can hold, by the words for its type."""
MICRO_TIMES = (
    "2026-01-01T00:00:00.000000Z",
    "0001-01-01T00:00:00.999999Z",
    "2026-01-01T00:00:00.123456+01:00",
)
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    1.5,
    1e308,
    2**31,
    2**53 + 1,
    2**63,
    10**30,
    "1e999",
    "",
    "x",
    [],
    [None],
    {},
    {"a": None},
    [[]],
    {"": ""},
)
OFTEN = frozenset({"spec", "template", "containers", "name", "selector", "metadata", "labels", "matchLabels", "ports"})
MAX_DEPTH = 9


class OddObjects:
    """Makes them, always the same from the same chance."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def of(self, cls: ApiType, depth: int = 0) -> dict[str, Any]:
        """An object, or a part of one, of a generated class."""
        found: dict[str, Any] = {}
        for wire, field in shape.fields_of(cls).items():
            share = 0.9 if wire in OFTEN else 0.35 / (1 + depth / 3)
            if depth < MAX_DEPTH and self._chance.random() < share:
                found[wire] = self._value(field.shape, depth + 1)
        return found

    def odd(self) -> Any:
        """Something that is no right value of anything in particular."""
        return self._chance.choice((*ODD, *TEXTS, *NUMBERS))

    def _value(self, described: shape.Shape, depth: int) -> Any:
        if self._chance.random() < 0.003:
            return self.odd()
        match described:
            case shape.StructShape():
                return self.of(described.cls, depth)
            case shape.ListShape():
                return [self._value(described.item, depth) for _ in range(self._chance.choice((0, 1, 1, 1, 2)))]
            case shape.MapShape():
                return {
                    self._chance.choice(TEXTS): self._value(described.value, depth)
                    for _ in range(self._chance.choice((0, 1, 2)))
                }
            case shape.NullableShape():
                return self._value(described.shape, depth)
            case shape.ScalarShape():
                return self._scalar(described)
            case _:
                return self.odd()

    def _scalar(self, described: shape.ScalarShape) -> Any:
        if MicroTime in described.exact:
            return self._chance.choice(MICRO_TIMES)
        return self._chance.choice(BY_WORDS.get(described.words) or (described.words.strip('"'),))
