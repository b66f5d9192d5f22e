"""Schemas of classes: what follows from annotations, and what facts add to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._schema.classes import FieldFacts, TypeFacts, read_facts, schema_of_class, write_facts
from masthead._schema.schema import REF_PREFIX, Schema
from masthead.meta import IntOrString, Merge, Quantity, Struct, Time

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType

TEXT = Schema(type="string", default="")


class Port(Struct):
    number: int = 0
    name: str | None = None


class Server(Struct):
    MERGE = {"ports": Merge(list_type="map", keys=("number",), strategy=("merge",), merge_key="number")}

    host: str = ""
    ports: list[Port] = []
    tags: list[str] = []
    limits: dict[str, Quantity] = {}
    main: Port | None = None
    since: Time | None = None
    weight: IntOrString | None = None


def name_of(cls: ApiType) -> str:
    return f"example.{cls.__name__}"


def schema(facts: str = "") -> Schema:
    return schema_of_class(Server, name_of, read_facts(facts).get("Server", TypeFacts()))


def test_a_scalar_that_is_never_absent_is_required_and_has_its_zero_as_default() -> None:
    assert schema().required == ("host",)
    assert schema().properties["host"] == TEXT


def test_an_optional_scalar_has_no_default() -> None:
    assert schema_of_class(Port, name_of).properties["name"] == Schema(type="string")


def test_integers_have_32_bits_unless_facts_say_otherwise() -> None:
    facts = TypeFacts(fields={"number": FieldFacts(is_int64=True)})

    assert schema_of_class(Port, name_of).properties["number"].format == "int32"
    assert schema_of_class(Port, name_of, facts).properties["number"].format == "int64"


def test_lists_of_types_refer_to_them_and_carry_their_merge_rules() -> None:
    assert schema().properties["ports"] == Schema(
        type="array",
        items=Schema(all_of=(Schema(ref=f"{REF_PREFIX}example.Port"),), default={}),
        list_type="map",
        list_map_keys=("number",),
        patch_strategy="merge",
        patch_merge_key="number",
    )


def test_other_lists_are_atomic_unless_facts_deny_a_list_type() -> None:
    assert schema().properties["tags"] == Schema(type="array", items=TEXT, list_type="atomic")
    assert schema("Server tags:-").properties["tags"].list_type is None


@pytest.mark.parametrize(
    ("field", "target"),
    [
        ("since", "io.k8s.apimachinery.pkg.apis.meta.v1.Time"),
        ("weight", "io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        ("main", "example.Port"),
    ],
)
def test_values_and_types_are_references(field: str, target: str) -> None:
    assert schema().properties[field] == Schema(all_of=(Schema(ref=REF_PREFIX + target),))


def test_values_in_maps_are_bare_references() -> None:
    values = schema().properties["limits"].additional_properties

    assert values == Schema(ref=f"{REF_PREFIX}io.k8s.apimachinery.pkg.api.resource.Quantity")


def test_facts_replace_what_follows_from_the_class() -> None:
    changed = schema('Server!main,host host:="localhost" main:*@other.Type since:={}')

    assert changed.required == ("main", "host")
    assert changed.properties["host"].default == "localhost"
    assert changed.properties["main"] == Schema(ref=f"{REF_PREFIX}other.Type")
    assert changed.properties["since"].default == {}


names = st.from_regex(r"\A[a-z][A-Za-z]{0,8}\Z")
fields = st.builds(
    FieldFacts,
    is_int64=st.booleans(),
    has_list_type=st.sampled_from([None, True, False]),
    is_bare=st.booleans(),
    target=st.sampled_from(["", "io.k8s.api.core.v1.Pod"]),
    default=st.sampled_from([None, msgspec.UNSET, "", 0, False, {}, "/etc/x", 17]),
)
facts = st.builds(
    TypeFacts,
    required=st.none() | st.lists(names, max_size=3, unique=True).map(tuple),
    fields=st.dictionaries(names, fields.filter(lambda each: each != FieldFacts()), max_size=3),
    unions=st.sampled_from([(), ({"discriminator": "type", "fields-to-discriminateBy": {"a": "A"}},)]),
)


@pytest.mark.slow
@given(st.dictionaries(names, facts.filter(lambda each: each != TypeFacts()), max_size=3))
def test_facts_are_read_as_they_were_written(written: dict[str, TypeFacts]) -> None:
    assert read_facts(write_facts(written)) == written


def test_a_line_that_names_no_type_is_refused() -> None:
    with pytest.raises(ValueError, match="!"):
        read_facts("! nothing")
