"""Random modules of custom resources, as source text, and random objects for them: valid ones, and ones with an error.

A module is a function of its seed. Half of the modules have their annotations as text.
"""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Plain = dict[str, Any]

HEAD = """
import enum
from datetime import UTC, datetime
from typing import Annotated, Literal

from masthead import CustomResource, Quantity
from masthead.crd import Field, Rule
from masthead.api.core.v1 import LocalObjectReference, PodTemplateSpec, ResourceRequirements
from masthead.meta import JSON, Condition, IntOrString, LabelSelector, ObjectMeta, Struct, Time, field


class Color(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9
"""


@dataclass(frozen=True)
class RandomType:
    """A type of a field.

    Attributes:
        annotation: Its annotation.
        good: Makes a valid value, as plain JSON.
        bad: Makes an invalid value that can still be decoded; None if there is none.
        literal: Writes a value as Python source, for a default; None if it cannot be a default.
    """

    annotation: str
    good: Callable[[Random], Any]
    bad: Callable[[Random], Any] | None = None
    literal: Callable[[Any], str] | None = repr


@dataclass(frozen=True)
class RandomField:
    """A field of a random type: attribute, wire name, and whether it must be given."""

    attribute: str
    wire: str
    type: RandomType
    is_required: bool
    line: str
    doc: str


@dataclass(frozen=True)
class RandomStruct:
    """A random class."""

    name: str
    fields: list[RandomField]
    source: str

    def good(self, random: Random) -> Plain:
        """A valid value."""
        return {
            field.wire: field.type.good(random) for field in self.fields if field.is_required or random.random() < 0.6
        }

    def bad(self, random: Random) -> Plain:
        """A value with one error in it, or a valid one if nothing can be wrong."""
        value = self.good(random)
        able = [field for field in self.fields if field.type.bad is not None]
        required = [field for field in self.fields if field.is_required]
        if required and (not able or random.random() < 0.2):
            del value[random.choice(required).wire]
        elif able:
            chosen = random.choice(able)
            assert chosen.type.bad is not None
            value[chosen.wire] = chosen.type.bad(random)
        return value

    def type(self) -> RandomType:
        return RandomType(self.name, self.good, self.bad, lambda value: f"{self.name}.from_dict({value!r})")


def text(random: Random, low: int = 1, high: int = 8) -> str:
    return "".join(random.choices("abcdefgh", k=random.randint(low, high)))


def scalar(random: Random) -> RandomType:
    low = random.randint(-5, 5)
    high = low + random.randint(1, 20)
    size = random.randint(1, 6)
    return random.choice(
        [
            RandomType("str", text),
            RandomType("int", lambda r: r.randint(-(2**40), 2**40)),
            RandomType("float", lambda r: r.choice([0.5, 1.25, -3, 7.0, 1e9])),
            RandomType("bool", lambda r: r.random() < 0.5),
            RandomType(
                f"Annotated[int, Field(minimum={low}, maximum={high})]",
                lambda r: r.randint(low, high),
                lambda r: r.choice([low - 1, high + 1]),
            ),
            RandomType(
                f"Annotated[float, Field(exclusive_minimum={low})]",
                lambda r: low + r.randint(1, 9) / 2,
                lambda _: low,
            ),
            RandomType(
                f"Annotated[str, Field(min_length={size}, max_length={size + 3})]",
                lambda r: text(r, size, size + 3),
                lambda r: text(r, size + 4, size + 9),
            ),
            RandomType(
                'Annotated[str, Field(pattern="^[a-d]+$")]',
                lambda r: "".join(r.choices("abcd", k=4)),
                lambda r: r.choice(["", "A", "abcz"]),
            ),
            RandomType("Annotated[str, Field(format='ipv4')]", lambda _: "10.0.0.1", lambda _: "10.0.0.256"),
            RandomType(
                "Annotated[int, Field(rules=[Rule('self % 2 == 0', message='must be even')])]",
                lambda r: r.randint(0, 50) * 2,
                lambda r: r.randint(0, 50) * 2 + 1,
            ),
            RandomType('Literal["tcp", "udp"]', lambda r: r.choice(["tcp", "udp"])),
            RandomType("Literal[1, 2, 3]", lambda r: r.choice([1, 2, 3])),
            RandomType("Color", lambda r: r.choice(["red", "blue"]), None, "Color({!r})".format),
            RandomType("Level", lambda r: r.choice([1, 9]), None, "Level({!r})".format),
            RandomType("Time", lambda _: "2026-01-02T03:04:05Z", None, None),
            RandomType("bytes", lambda r: r.choice(["aGk=", "AAAA"]), None, None),
            RandomType("Quantity", lambda r: r.choice(["1", "500m", "2Gi"]), None, "Quantity({!r})".format),
            RandomType("IntOrString", lambda r: r.choice([80, "http"])),
        ]
    )


def embedded(random: Random) -> RandomType:
    return random.choice(
        [
            RandomType("LabelSelector", lambda r: {"matchLabels": {"app": text(r)}}, None, None),
            RandomType("ObjectMeta", lambda r: {"labels": {"app": text(r)}, "name": text(r)}, None, None),
            RandomType(
                "ResourceRequirements",
                lambda r: {"limits": {"cpu": r.choice(["1", "500m"])}, "claims": [{"name": text(r)}]},
                lambda r: {"claims": [{"request": text(r)}]},
                None,
            ),
            RandomType(
                "PodTemplateSpec",
                lambda r: {
                    "metadata": {"labels": {"app": text(r)}},
                    "spec": {
                        "containers": [
                            {
                                "name": "web",
                                "image": text(r),
                                "ports": [{"containerPort": 80, "protocol": "UDP"}],
                            }
                        ]
                    },
                },
                lambda r: {"spec": {"containers": [{"image": text(r)}]}},
                None,
            ),
            RandomType("LocalObjectReference", lambda r: {"name": text(r)}, None, None),
            RandomType("JSON", lambda r: r.choice([1, "x", [1, {"a": None}], {"b": [True]}]), None, None),
            RandomType("dict[str, JSON]", lambda r: {text(r): {"a": [1, "b"]}}, None, None),
        ]
    )


def listed(random: Random, item: RandomType, *, is_struct: bool) -> RandomType:
    bad_item = item.bad
    literal = item.literal

    def good(r: Random) -> list[Any]:
        return [item.good(r) for _ in range(r.randint(0, 3))]

    def bad(r: Random) -> list[Any]:
        assert bad_item is not None
        return [*good(r), bad_item(r)]

    written = (lambda value: f"[{', '.join(map(literal, value))}]") if literal is not None else None
    if item.annotation == "str" and random.random() < 0.5:
        names = ["a", "b", "c"]
        return RandomType(
            'Annotated[list[str], Field(list_type="set", max_items=3)]',
            lambda r: r.sample(names, r.randint(0, 3)),
            lambda r: r.choice([["a", "a"], ["a", "b", "c", "d"]]),
        )
    if not is_struct and random.random() < 0.3:
        return RandomType(
            f"Annotated[list[{item.annotation}], Field(min_items=1)]",
            lambda r: [*good(r), item.good(r)],
            lambda _: [],
            written,
        )
    return RandomType(f"list[{item.annotation}]", good, bad if bad_item else None, written)


def mapped(item: RandomType) -> RandomType:
    bad_item, literal = item.bad, item.literal

    def good(r: Random) -> Plain:
        return {text(r): item.good(r) for _ in range(r.randint(0, 3))}

    def bad(r: Random) -> Plain:
        assert bad_item is not None
        return {**good(r), "bad": bad_item(r)}

    def written(value: Any) -> str:
        assert literal is not None
        return f"{{{', '.join(f'{key!r}: {literal(each)}' for key, each in value.items())}}}"

    return RandomType(f"dict[str, {item.annotation}]", good, bad if bad_item else None, written if literal else None)


class RandomModule:
    """A module with one custom resource.

    Args:
        seed: What it is made from.
        group: Its group.

    Attributes:
        source: Its text.
        spec: The class of the spec.
    """

    def __init__(self, seed: int, group: str = "random.example.com") -> None:
        self.seed = seed
        self._random = Random(f"class {seed}")
        self.kind = f"Thing{seed}"
        self.structs: list[RandomStruct] = []
        for number in range(self._random.randint(1, 4)):
            self.structs.append(self._struct(f"Part{number}", number))
        self.spec = self._struct(f"{self.kind}Spec", len(self.structs))
        future = "from __future__ import annotations\n" if seed % 2 else ""
        body = "\n\n".join(each.source for each in (*self.structs, self.spec))
        options = f'group="{group}", version="v1"{self._options()}'
        self.source = (
            f'"""A random module."""\n{future}{HEAD}\n\n{body}\n\n'
            f"class {self.kind}Status(Struct):\n    phase: str = ''\n    conditions: list[Condition] = []\n\n\n"
            f"class {self.kind}(CustomResource, {options}):\n"
            f'    """A thing of {text(self._random)}."""\n\n'
            f"    spec: {self.kind}Spec\n    status: {self.kind}Status\n"
        )

    def load(self) -> Any:
        """Run the text, and return the class."""
        name = f"random_classes_{self.seed}"
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(self.source, f"<{name}>", "exec", dont_inherit=True), vars(module))
        return vars(module)[self.kind]

    def objects(self, count: int, *, bad: bool = False) -> list[Plain]:
        """Random specs."""
        random = Random(f"objects {self.seed} {bad}")
        return [self.spec.bad(random) if bad else self.spec.good(random) for _ in range(count)]

    def _options(self) -> str:
        found = [
            f', short_names=["th{self.seed}"]',
            ', categories=["all"]',
            ", namespaced=True",
            ', columns={"Phase": ".status.phase"}',
            ', selectable_fields=[".status.phase"]',
            ", rules=['self.metadata.name != \"forbidden\"']",
        ]
        return "".join(each for each in found if self._random.random() < 0.4)

    def _type(self, known: int) -> RandomType:
        random = self._random
        choice = random.random()
        if choice < 0.15:
            return embedded(random)
        if known and choice < 0.45:
            item = random.choice(self.structs[:known]).type()
            which = random.random()
            if which < 0.3:
                return listed(random, item, is_struct=True)
            return mapped(item) if which < 0.5 else item
        item = scalar(random)
        which = random.random()
        if which < 0.15:
            return listed(random, item, is_struct=False)
        return mapped(item) if which < 0.25 else item

    def _struct(self, name: str, known: int) -> RandomStruct:
        random = self._random
        fields = [self._field(number, self._type(known)) for number in range(random.randint(1, 5))]
        docs = "".join(f"        {field.attribute}: {field.doc}\n" for field in fields if field.doc)
        doc = f'    """It is {text(random)}.\n\n    Attributes:\n{docs}    """\n\n' if docs else ""
        body = "".join(f"    {field.line}\n" for field in fields)
        return RandomStruct(name, fields, f"class {name}(Struct):\n{doc}{body}")

    def _field(self, number: int, made: RandomType) -> RandomField:
        random = self._random
        attribute = f"{text(random, 1, 4)}_field_{number}"
        first, *rest = attribute.split("_")
        wire = first + "".join(each.title() for each in rest)
        annotation, default, is_required = made.annotation, "", False
        which = random.random()
        if which < 0.35:
            is_required = True
        elif which < 0.65 or made.literal is None:
            annotation, default = f"{annotation} | None", " = None"
        else:
            default = f" = {made.literal(made.good(random))}"
        doc = f"The {text(random)} of it." if random.random() < 0.3 else ""
        return RandomField(attribute, wire, made, is_required, f"{attribute}: {annotation}{default}", doc)
