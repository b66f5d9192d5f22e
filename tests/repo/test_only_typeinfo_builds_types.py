"""msgspec meets a type for the first time in one module only; `masthead._meta.typeinfo` says why."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import masthead

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(masthead.__file__).parent
HOME = SOURCES / "_meta" / "typeinfo.py"


def first_uses(tree: ast.Module) -> Iterator[int]:
    """The lines on which msgspec is given a type to decode into."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("msgspec"):
            if any(name.name in {"json", "msgpack", "convert", "Decoder"} for name in node.names):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "msgspec.convert":
            yield node.lineno
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            is_decoding = called.endswith(("json.decode", "msgpack.decode", "toml.decode", "yaml.decode"))
            given = [*node.args[is_decoding:], *(keyword.arg for keyword in node.keywords)]
            if (called.startswith("msgspec.") and called.endswith(".Decoder") and given) or (
                is_decoding and called.startswith("msgspec.") and given
            ):
                yield node.lineno


def test_no_other_module_hands_msgspec_a_type_to_decode_into() -> None:
    found = {
        f"{path.relative_to(SOURCES)}:{line}"
        for path in SOURCES.rglob("*.py")
        if path != HOME
        for line in first_uses(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert found == set()


def test_the_check_sees_every_spelling() -> None:
    spellings = [
        "msgspec.json.Decoder(Pod)",
        "msgspec.json.decode(data, type=Pod)",
        "msgspec.msgpack.Decoder(type=Pod)",
        "msgspec.convert(data, Pod)",
        "functools.partial(msgspec.convert, type=Pod)",
        "from msgspec.json import Decoder",
        "from msgspec import convert",
    ]

    assert [len(list(first_uses(ast.parse(spelling)))) for spelling in spellings] == [1] * len(spellings)
    assert not list(first_uses(ast.parse("msgspec.json.decode(data); msgspec.json.Decoder().decode(data)")))
