"""``python -m tools.definitions``: the properties of Kubernetes' schemas that the generated classes lack.

`masthead._schema.classes` derives a schema from a class. This tool compares it with the schema in the documents, and
writes the differences in the format of `masthead._schema.classes.read_facts`, one text for each package of types.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._codegen import homes
from masthead._meta.gvk import GroupVersion
from masthead._schema.classes import FieldFacts, TypeFacts, schema_of_class, write_facts
from masthead._schema.schema import Schema
from masthead.api.index import KINDS
from masthead.errors import GenerateError, MastheadError
from tools import releases
from tools.headers import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from masthead._meta.apitype import ApiType

__all__ = ["from_folder", "main"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_META_MODULE: Final = "masthead._meta.v1"
_API: Final = "masthead.api."
_DOCUMENTS: Final = "openapi-v3"
_BEYOND_DOCUMENTS: Final[Mapping[str, TypeFacts]] = {
    "APIGroup": TypeFacts(required=("name", "versions")),
    "APIGroupList": TypeFacts(required=("groups",)),
    "APIVersions": TypeFacts(required=("versions", "serverAddressByClientCIDRs")),
    "ServerAddressByClientCIDR": TypeFacts(required=("clientCIDR", "serverAddress")),
}
"""Types of discovery, which the documents of group-versions lack."""


def from_folder(folder: Path) -> str:
    """Write the module of facts for the documents of a folder.

    Raises:
        GenerateError: If documents are missing or malformed, or have something that no fact expresses.
    """
    schemas = dict(_schemas(folder / _DOCUMENTS))
    modules = _modules(schemas)
    packages = {module: package for package, module in modules.items()}

    def name_of(cls: ApiType) -> str:
        where = str(cls.module_globals["__name__"])
        package = packages.get(where, _META)
        return f"{package}.{cls.__name__}"

    facts: dict[str, dict[str, TypeFacts]] = {package: {} for package in modules}
    facts[_META] |= _BEYOND_DOCUMENTS
    for full_name, wanted in sorted(schemas.items()):
        package, _, name = full_name.rpartition(".")
        if package not in modules or full_name in homes.VALUES or full_name in homes.UNIONS:
            continue
        cls: ApiType | None = getattr(importlib.import_module(modules[package]), name, None)
        if cls is not None:
            facts[package][name] = _facts(full_name, cls, wanted, name_of)
    return _render({modules[package]: (package, inner) for package, inner in facts.items()})


def _schemas(folder: Path) -> Iterator[tuple[str, Schema]]:
    try:
        documents = [msgspec.json.decode(path.read_bytes()) for path in sorted(folder.glob("*.json"))]
    except (OSError, msgspec.DecodeError) as error:
        raise GenerateError(f"{folder} does not have OpenAPI documents: {error}") from None
    if not documents:
        raise GenerateError(f"{folder} has no OpenAPI documents")
    for document in documents:
        for name, plain in document["components"]["schemas"].items():
            if name.startswith(releases.BUILTIN):
                yield name, _without_prose(Schema.from_plain(plain))


def _without_prose(schema: Schema) -> Schema:
    """Return the schema without descriptions and enumerated values, which merging does not need."""
    inner = schema.additional_properties
    return msgspec.structs.replace(
        schema,
        description="",
        enum=(),
        properties={wire: _without_prose(field) for wire, field in schema.properties.items()},
        items=_without_prose(schema.items) if schema.items is not None else None,
        additional_properties=_without_prose(inner) if isinstance(inner, Schema) else inner,
    )


def _modules(schemas: Mapping[str, Schema]) -> dict[str, str]:
    """The module of each package of types."""
    found = {_META: _META_MODULE}
    for name, schema in sorted(schemas.items()):
        package = name.rpartition(".")[0]
        if package not in found and len(schema.kinds) == 1:
            found[package] = KINDS[str(GroupVersion(schema.kinds[0].group, schema.kinds[0].version))][0]
    return found


def _facts(full_name: str, cls: ApiType, wanted: Schema, name_of: Callable[[ApiType], str]) -> TypeFacts:
    plain = schema_of_class(cls, name_of)
    fields = {
        wire: each
        for wire, field in wanted.properties.items()
        if wire in plain.properties and (each := _field_facts(plain.properties[wire], field)) != FieldFacts()
    }
    facts = TypeFacts(
        None if wanted.required == plain.required else wanted.required,
        dict(sorted(fields.items())),
        wanted.unions,
    )
    made = schema_of_class(cls, name_of, facts)
    # The kinds of options and events depend on the document that they are in.
    if msgspec.structs.replace(made, kinds=()) != msgspec.structs.replace(wanted, kinds=()):
        raise GenerateError(f"{full_name} has something that its class and facts do not express")
    return facts


def _field_facts(plain: Schema, wanted: Schema) -> FieldFacts:
    inner, inner_wanted = _innermost(plain), _innermost(wanted)
    target = inner_wanted.target if inner_wanted.target != inner.target else ""
    has_list_type = wanted.list_type is not None
    default: object = None
    if plain.default != wanted.default:
        default = wanted.default
    return FieldFacts(
        is_int64=inner_wanted.format == "int64",
        has_list_type=None if has_list_type == (plain.list_type is not None) else has_list_type,
        is_bare=bool(wanted.ref),
        target=target,
        default=default,
    )


def _innermost(schema: Schema) -> Schema:
    """The schema of the items of a list, of the values of a map, or of a list in a map."""
    while True:
        inner = schema.items or schema.additional_properties
        if not isinstance(inner, Schema):
            return schema
        schema = inner


def _render(facts: Mapping[str, tuple[str, Mapping[str, TypeFacts]]]) -> str:
    lines = [
        first_line("Properties of Kubernetes' schemas that the classes lack"),
        "",
        "from typing import Final",
        "",
        "FACTS: Final[dict[str, tuple[str, str]]] = {",
    ]
    for module, (package, types) in sorted(facts.items(), key=lambda one: one[1][0]):
        where = "" if package == _META else module.removeprefix(_API)
        lines.append(f'    "{package}": (')
        lines.append(f'        "{where}",')
        lines.append('        """\\')
        lines += write_facts(types).splitlines()
        lines.append('""",')
        lines.append("    ),")
    return "\n".join([*lines, "}", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.definitions", description=__doc__)
    parser.add_argument("--openapi", type=Path, required=True, metavar="DIR", help="the documents of a release")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the module to write")
    options = parser.parse_args(arguments)
    try:
        options.out.write_text(from_folder(cast("Path", options.openapi)), encoding="utf-8", newline="\n")
    except (MastheadError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
