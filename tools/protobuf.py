"""``python -m tools.protobuf``: the fields of protobuf messages, for decoding requests of Go clients.

Three sources make one table: protobuf has the numbers and types of fields, OpenAPI their names in JSON and the fields
that JSON omits when zero, and `masthead_server.resources.go_types` the scalars that are pointers.

A message is one text: ``number:name:type`` for each field. A type is one letter for a scalar (s: string, i: int32,
l: int64, b: bool, d: double, y: bytes), a name with a dot for a message, a name without one for a type that JSON
writes in another form. A prefix marks a list (``*``), a map (``%``), or a message whose fields JSON inlines (``>``);
the suffix ``?`` means that JSON omits a zero. A type of the message's own package begins with its dot. The kinds of a
group and version are one text, too: their package, and their names.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._codegen import sources
from masthead._meta import typeinfo
from masthead.errors import GenerateError, MastheadError
from masthead_server.resources.go_types import GoField, fields_of
from masthead_server.wire import protobuf_table
from tools import releases
from tools.headers import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from masthead._codegen.spec import Spec
    from masthead._meta.gvk import GroupVersionKind
    from masthead._schema.schema import Schema

_SCALARS: Final = {"string": "s", "int32": "i", "int64": "l", "bool": "b", "double": "d", "bytes": "y"}
_OWN_FORM: Final = frozenset(
    {
        "ExtraValue",
        "FieldsV1",
        "IntOrString",
        "JSON",
        "JSONSchemaPropsOrArray",
        "JSONSchemaPropsOrBool",
        "JSONSchemaPropsOrStringArray",
        "MicroTime",
        "Quantity",
        "RawExtension",
        "Time",
        "Verbs",
    }
)
"""Messages that are not objects in JSON."""
_MAP: Final = re.compile(r"map<string,(.+)>")
_META: Final = "meta.v1"
_HEAD: Final = frozenset({"apiVersion", "kind"})
"""Fields of every kind, which protobuf has around the message."""

Fields = dict[str, dict[str, list[str]]]
"""For each message, by number: the name, the type and perhaps ``repeated``."""


def table_of(spec: Spec, fields: Fields) -> str:
    """Write the module that holds the table.

    Args:
        spec: The API's schemas.
        fields: What protobuf calls things.

    Raises:
        GenerateError: If two messages would go by one name, or one is missing.
    """
    messages: dict[str, str] = {}
    kinds: dict[str, tuple[str, list[str]]] = {}
    writer = _Writer(spec, fields, messages)
    for message, gvk in _kinds(spec, fields):
        writer.add(message)
        package = _short(message).rpartition(".")[0]
        # Options and statuses are the same under every group.
        served = "" if package == _META else str(gvk.group_version)
        kinds.setdefault(served, (package, []))[1].append(gvk.kind)
    return _render(kinds, messages)


def _kinds(spec: Spec, fields: Fields) -> Iterator[tuple[str, GroupVersionKind]]:
    for message in fields:
        schema = spec.schemas.get(_schema_name(message))
        yield from ((message, gvk) for gvk in (schema.kinds if schema else ()))


def _render(kinds: Mapping[str, tuple[str, list[str]]], messages: Mapping[str, str]) -> str:
    lines = [first_line("Fields of protobuf messages"), "", "from typing import Final", ""]
    lines.append("KINDS: Final[dict[str, str]] = {")
    lines += [
        f'    "{served}": "{" ".join([package, *sorted(set(names))])}",'
        for served, (package, names) in sorted(kinds.items())
    ]
    lines += ["}", "", "MESSAGES: Final[dict[str, str]] = {"]
    lines += [f'    "{name}": "{text}",' for name, text in sorted(messages.items())]
    return "\n".join([*lines, "}", ""])


class _Writer:
    """Renders messages and the messages that they contain."""

    def __init__(self, spec: Spec, fields: Fields, messages: dict[str, str]) -> None:
        self._spec = spec
        self._fields = fields
        self._messages = messages
        self._sources: dict[str, str] = {}

    def add(self, message: str, *, around: str = "") -> None:
        """Write a message.

        Args:
            message: Its full name.
            around: The message that inlines its fields in JSON, if it is no object there.
        """
        short = _short(message)
        if self._sources.setdefault(short, message) != message:
            raise GenerateError(f"both {message} and {self._sources[short]} would be called {short}")
        if short in self._messages:
            return
        if message not in self._fields:
            raise GenerateError(f"the numbers of {message} are missing")
        self._messages[short] = ""  # a message may contain itself
        owner = message if _schema_name(message) in self._spec.schemas else around or message
        texts = [self._field(message, int(number), entry, owner) for number, entry in self._fields[message].items()]
        self._messages[short] = " ".join(texts)

    def _field(self, message: str, number: int, entry: list[str], owner: str) -> str:
        name, written, *repeated = entry
        schema = self._spec.schemas.get(_schema_name(owner))
        properties = schema.properties if schema else {}
        wire = _json_name(name, properties)
        in_map = _MAP.fullmatch(written)
        written = in_map[1] if in_map else written
        if properties and not wire and written in self._fields:
            self.add(written, around=owner)
            return f"{number}::>{self._type(message, written)}"
        wire = wire or name
        prefix = "%" if in_map else "*" if repeated else ""
        optional = "" if prefix or not self._is_dropped(owner, wire, written, properties) else "?"
        return f"{number}:{wire}:{prefix}{self._type(message, written)}{optional}"

    def _type(self, message: str, written: str) -> str:
        if written in _SCALARS:
            return _SCALARS[written]
        name = written.rpartition(".")[2]
        if name.startswith("JSONSchemaPropsOr"):
            self.add(written)
        if name in _OWN_FORM:
            return name
        self.add(written)
        package, short = (_short(message_name).rpartition(".")[0] for message_name in (message, written))
        return f".{name}" if package == short else f"{short}.{name}"

    @staticmethod
    def _is_dropped(message: str, name: str, written: str, properties: Mapping[str, Schema]) -> bool:
        """Whether JSON has no such field where it is zero."""
        package, _, type_ = _short(message).rpartition(".")
        facts = fields_of(package, type_).get(name, GoField())
        if written not in _SCALARS or facts.is_pointer:
            return False
        if facts.is_omitted is not None:
            return facts.is_omitted
        # OpenAPI states a zero default for exactly the fields that Go always writes.
        return name not in properties or not properties[name].has_default or bool(properties[name].default)


def _short(message: str) -> str:
    """Group, version and name: ``core.v1.Pod``."""
    return ".".join(message.split(".")[-3:])


def _schema_name(message: str) -> str:
    """The name of a message's schema: ``k8s.io.api.core.v1.Pod`` is ``io.k8s.api.core.v1.Pod``."""
    return "io.k8s." + message.removeprefix("k8s.io.").replace("_", "-")


def _json_name(name: str, properties: Mapping[str, Schema]) -> str:
    """The name of a field in JSON; empty if it has none."""
    if name in properties:
        return name
    return next((wire for wire in properties if _fold_case(wire) == _fold_case(name)), "")


def _fold_case(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def from_documents(openapi: Path, fields: Path) -> str:
    """Write the table for the documents of a release.

    Args:
        openapi: The folder of its documents.
        fields: A JSON file with the numbers, names and types of fields, as `Fields` describes it.

    Raises:
        GenerateError: If documents are missing or malformed.
    """
    try:
        read = typeinfo.decode_json(fields.read_bytes(), Fields)
    except (OSError, msgspec.DecodeError) as error:
        raise GenerateError(f"{fields} does not have the fields of messages: {error}") from None
    return table_of(sources.from_folder(openapi), read)


def check_table(spec: Spec) -> None:
    """Check that the table has a number for every field of every kind.

    No document of a server has the numbers, so the table stays the same until the numbers of a newer release are given.

    Raises:
        GenerateError: If a kind or a field is missing.
    """
    kinds = {(served, kind) for served, text in protobuf_table.KINDS.items() for kind in text.split()[1:]}
    missing = [str(gvk) for gvk in spec.resources if (gvk.api_version, gvk.kind) not in kinds]
    for full_name, schema in sorted(spec.schemas.items()):
        message = _short(full_name)
        if message in protobuf_table.MESSAGES and full_name.startswith(releases.BUILTIN):
            head = _HEAD if schema.kinds else frozenset[str]()
            unnumbered = schema.properties.keys() - _numbered_fields(message) - head
            missing += [f"{message}.{wire}" for wire in sorted(unnumbered)]
    if missing:
        raise GenerateError(
            f"the protobuf table lacks {', '.join(missing)}: name a file with the numbers of fields "
            "(make codegen PROTOBUF=protobuf-fields.json)"
        )


def _numbered_fields(message: str) -> set[str]:
    """Return the fields of a message in JSON, with those of messages that JSON inlines."""
    package = message.rpartition(".")[0]
    names: set[str] = set()
    for field in protobuf_table.MESSAGES[message].split():
        _, name, type_ = field.split(":")
        inlined = type_.removeprefix(">").removesuffix("?")
        if type_.startswith(">"):
            names |= _numbered_fields(f"{package}{inlined}" if inlined.startswith(".") else inlined)
        else:
            names.add(name)
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.protobuf", description=__doc__)
    parser.add_argument("--openapi", type=Path, required=True, metavar="DIR", help="the documents of a release")
    parser.add_argument(
        "--fields", type=Path, metavar="FILE", help="the numbers of fields; without it, check the table"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the module to write")
    options = parser.parse_args(arguments)
    try:
        if options.fields:
            table = from_documents(options.openapi, options.fields)
            options.out.write_text(table, encoding="utf-8", newline="\n")
        else:
            check_table(sources.from_folder(options.openapi))
    except (MastheadError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
