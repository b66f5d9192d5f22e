"""The text of ``explain``, where a server's schema is odd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from masthead._cli.api_docstrings import TypeDescription
from masthead._cli.schema_text import SchemaText
from masthead._cli.schemas import Schemas, with_descriptions
from masthead._cli.word_wrap import indent, wrap
from masthead._meta.gvk import GroupVersionKind

if TYPE_CHECKING:
    from masthead._meta.plain import Plain

REF = "#/components/schemas/"


def document(**schemas: Any) -> Plain:
    return {"components": {"schemas": schemas}}


def explain(schemas: Plain, name: str, *path: str, recursive: bool = False) -> str:
    found = Schemas(schemas)
    return SchemaText(found.resolve(REF + name), found.resolve, recursive=recursive).render(path)


def test_a_type_that_contains_itself_is_listed_once_on_each_path() -> None:
    tree = document(Tree={"properties": {"left": {"$ref": f"{REF}Tree"}, "name": {"type": "string"}}})

    assert explain(tree, "Tree", recursive=True) == (
        "DESCRIPTION:\n    <empty>\nFIELDS:\n  left\t<Tree>\n    left\t<Tree>\n    name\t<string>\n  name\t<string>\n"
    )
    assert explain(tree, "Tree", "left", "left", "name").startswith("FIELD: name <string>\n")


def test_references_in_a_circle_have_no_fields() -> None:
    circle = document(A={"allOf": [{"$ref": f"{REF}B"}]}, B={"items": {"$ref": f"{REF}A"}})

    assert explain(circle, "A", "name") == ""
    assert explain(circle, "A").startswith("DESCRIPTION:\n    <empty>\n")
    assert SchemaText({"$ref": f"{REF}A"}, Schemas(circle).resolve, recursive=True).names_beside(["x"]) == []


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ({}, "<Object>"),
        ({"type": "object"}, "<Object>"),
        ({"type": "array", "items": {"type": "string"}}, "<[]string>"),
        ({"additionalProperties": True, "type": "object"}, "<Object>"),
        ({"additionalProperties": {"type": "array", "items": {"type": "integer"}}}, "<map[string][]integer>"),
        ({"allOf": [{"$ref": f"{REF}io.k8s.Time"}]}, "<string>"),
        ({"$ref": f"{REF}io.k8s.Missing"}, "<Missing>"),
        ({"type": "boolean", "enum": [True, None, ""]}, '<boolean>\n  enum: true, <nil>, ""'),
        ({"type": "string", "enum": list("abcde")}, "<string>\n  enum: a, b, c, d, ...."),
        ({"type": ["no", "text"], "description": 5, "enum": "x"}, "<Object>"),
        ("nothing", "<Object>"),
    ],
)
def test_types_are_guessed_as_kubectl_does(field: object, line: str) -> None:
    schemas = document(Kind={"properties": {"field": field}}, **{"io.k8s.Time": {"type": "string"}})

    assert f"\n  field\t{line}\n" in explain(schemas, "Kind", recursive=True)


def test_the_schema_of_a_kind_is_found_by_its_kind() -> None:
    gvk = {"group": "example.com", "version": "v1", "kind": "Widget"}
    found = Schemas(document(odd=None, W={"type": "object", "x-kubernetes-group-version-kind": [gvk]}))

    assert found.of_kind(GroupVersionKind("example.com", "v1", "Widget"))["type"] == "object"
    assert found.of_kind(GroupVersionKind("example.com", "v2", "Widget")) == {}


def test_descriptions_of_the_server_take_precedence() -> None:
    schema: Plain = {"description": "theirs", "properties": {"a": {"description": "theirs"}, "b": {}, "c": {}}}
    described = with_descriptions(schema, TypeDescription("ours", {"a": "ours", "b": "ours"}))

    assert described == {
        "description": "theirs",
        "properties": {"a": {"description": "theirs"}, "b": {"description": "ours"}, "c": {}},
    }
    assert "description" not in schema["properties"]["b"]


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        ("", ""),
        ("one two three", "one two\nthree"),
        ("one  two", "one  two"),
        ("  x\n\ny  ", "  x\n\ny  "),
        ("abcdefghijkl", "abcdefghijkl"),
        ("a abcdefghijkl b", "a\nabcdefghijkl\nb"),
        ("one two          ", "one two"),
        ("one\u00a0two three", "one\u00a0two\nthree"),
    ],
)
def test_lines_break_at_blanks(text: str, wrapped: str) -> None:
    assert wrap(text, 10) == wrapped


def test_empty_lines_are_indented_too() -> None:
    assert indent("a\n\nb", 2) == "  a\n  \n  b"
