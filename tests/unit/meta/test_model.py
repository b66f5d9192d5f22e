"""Types by themselves: what holds for a Struct that is no object."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from masthead._meta import shape
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.metadata import ObjectMeta
from masthead._meta.model import Struct, field
from masthead._meta.object import Object
from masthead._meta.time import MicroTime
from masthead.api.apiextensions.v1 import JSONSchemaProps
from masthead.api.coordination.v1 import LeaseSpec
from masthead.api.core.v1 import Container, ObjectReference, Pod, PodList, PodSpec, ServicePort
from masthead.errors import DecodeError


class Early(Object):
    """A kind whose annotations are text, and name a type that comes later."""

    GVK = GroupVersionKind("example.com", "v1", "Early")

    note: str | None = None
    spec: Late | None = None
    parts: list[Late] = []


class Late(Struct):
    size: int = 0


def test_a_kind_may_name_a_type_that_is_defined_further_down() -> None:
    early = Early.from_json(b'{"note":"x","spec":{"size":1},"parts":[{"size":2}]}')

    assert (early.note, early.spec, early.parts) == ("x", Late(size=1), [Late(size=2)])
    assert Early.from_dict({"spec": {"size": 0}}).to_dict()["spec"] == {"size": 0}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"name":1}', "Container: name: expected a string, got an integer (1)"),
        (b'{"name":"a","name":"b"}', 'Container: name: the key "name" appears twice'),
        (b"{", "Container: not JSON: the text ends too early"),
        ("\ud800", "Container: not text: it has lone surrogates"),
        (b"[]", "Container: expected an object (Container), got a list"),
        (b'{"env":[{"valueFrom":{"fieldRef":[]}}]}', "Container: env[0].valueFrom.fieldRef: expected an object (ObjectFieldSelector), got a list"),  # noqa: E501
        (b'{"resources":{"limits":[]}}', "Container: resources.limits: expected an object, got a list"),
        (b'{"tty":1}', "Container: tty: expected true or false, got an integer (1)"),
        (b'{"startupProbe":{"initialDelaySeconds":1.5}}', "Container: startupProbe.initialDelaySeconds: expected an integer, got a number (1.5)"),  # noqa: E501
    ],
)  # fmt: skip
def test_a_nested_type_reads_json_by_itself_and_says_what_is_wrong(data: bytes | str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Container.from_json(data)

    assert str(caught.value) == message


def test_text_and_bytes_read_the_same() -> None:
    assert Container.from_json('{"name":"ü"}') == Container.from_json('{"name":"ü"}'.encode())
    assert PodList.from_json('{"items":[{"metadata":{"name":"a"}}]}')[0].key == "a"
    with pytest.raises(DecodeError, match="lone surrogates"):
        PodList.from_json("\ud800")


def test_a_huge_number_is_rejected() -> None:
    with pytest.raises(DecodeError) as caught:
        Pod.from_json('{"a": ' + "9" * 10_000 + "}")

    assert str(caught.value) == "Pod: not JSON: integer value out of range"


@pytest.mark.parametrize("data", [{1: "x"}, {"spec": {None: 1}}, {"metadata": {"labels": {True: "x"}}}])
def test_a_key_that_is_not_text_is_refused(data: dict[object, object]) -> None:
    with pytest.raises(DecodeError, match=r"expected text as the key, got .*; put it in quotes"):
        Pod.from_dict(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [[], "x", None, 3])
def test_data_that_is_not_an_object_is_rejected_by_every_constructor(data: object) -> None:
    for kind in (Pod, PodList, Container):
        with pytest.raises(DecodeError, match="expected an object"):
            kind.from_dict(data)  # type: ignore[arg-type]


def test_a_field_that_may_be_one_of_several_things_takes_each() -> None:
    schema = JSONSchemaProps.from_dict(
        {
            "additionalProperties": False,
            "items": {"type": "string"},
            "properties": {"a": {"items": [{"type": "x"}]}},
        }
    )

    assert schema.additional_properties is False
    assert schema.items == JSONSchemaProps(type="string")
    assert schema.properties["a"].items == [JSONSchemaProps(type="x")]
    assert JSONSchemaProps.from_json(schema.to_json()) == schema
    with pytest.raises(DecodeError, match="additionalProperties: expected true or false"):
        JSONSchemaProps.from_dict({"additionalProperties": 7})


def test_a_port_is_a_number_or_a_name() -> None:
    assert ServicePort.from_json(b'{"targetPort":80}').target_port == 80
    assert ServicePort.from_json(b'{"targetPort":"http"}').target_port == "http"
    with pytest.raises(DecodeError, match="targetPort: expected an integer or a string, got a list"):
        ServicePort.from_json(b'{"targetPort":[]}')


def test_a_plain_time_becomes_one_of_microseconds_where_the_api_wants_that() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    spec = LeaseSpec(acquire_time=noon)
    spec.renew_time = noon

    assert type(spec.acquire_time) is type(spec.renew_time) is MicroTime
    assert spec.to_json() == (
        b'{"acquireTime":"2026-01-01T12:00:00.000000Z","renewTime":"2026-01-01T12:00:00.000000Z"}'
    )


FINE = datetime(2026, 1, 1, 14, 0, 59, 987654, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize("when", [FINE, MicroTime.of(FINE), "2026-01-01T14:00:59.987654+02:00"])
def test_a_time_given_in_code_is_written_in_utc_and_to_the_second(when: datetime) -> None:
    meta = ObjectMeta(creation_timestamp=when)
    meta.deletion_timestamp = when
    built = Pod.new("a", status={"startTime": when})

    assert meta.to_dict() == dict.fromkeys(("creationTimestamp", "deletionTimestamp"), "2026-01-01T12:00:59Z")
    assert built.to_dict()["status"] == {"startTime": "2026-01-01T12:00:59Z"}
    assert type(meta.creation_timestamp) is datetime
    assert LeaseSpec(renew_time=FINE).to_dict() == {"renewTime": "2026-01-01T12:00:59.987654Z"}


def test_a_time_of_the_server_keeps_its_fraction_and_its_offset() -> None:
    data = {"creationTimestamp": "2026-01-01T14:00:59.987654+02:00"}

    assert ObjectMeta.from_dict(data).to_dict() == data
    assert ObjectMeta.from_json(ObjectMeta.from_dict(data).to_json()).to_dict() == data


def test_a_time_outside_of_the_calendar_in_utc_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"creationTimestamp: expected an RFC 3339 time.*year"):
        ObjectMeta(creation_timestamp=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))))


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(DecodeError, match="creationTimestamp: expected an RFC 3339 time"):
        ObjectMeta(creation_timestamp=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(DecodeError, match="renewTime: expected an RFC 3339 time"):
        LeaseSpec(renew_time=datetime(2026, 1, 1))  # noqa: DTZ001


def test_types_compare_with_their_own_kind_only() -> None:
    assert PodSpec() == PodSpec(containers=[])
    assert PodSpec() != ObjectReference()
    assert PodSpec() != {}
    assert Container(name="a", env=[]) == Container(name="a")
    assert Container(args=["a", "b"]) != Container(args=["b", "a"])


def test_types_with_something_unwritable_in_them_still_compare() -> None:
    one, other = Container(name="a"), Container(name="a")
    one.args.append(object())  # type: ignore[arg-type]

    assert one != other


def test_facts_about_merging_stand_beside_the_fields() -> None:
    assert PodSpec.MERGE["containers"].keys == ("name",)
    assert PodSpec.MERGE["containers"].strategy == ("merge",)
    assert Container.MERGE["ports"].keys == ("containerPort", "protocol")
    assert ObjectReference.ATOMIC
    assert ObjectMeta.MERGE["finalizers"].list_type == "set"


def test_a_type_of_another_library_is_not_an_api_type() -> None:
    with pytest.raises(NotImplementedError):
        shape.dec_hook(complex, "1j")


def test_the_class_shows_its_descriptors() -> None:
    for descriptor in (PodSpec.containers, Container.name, Pod.spec):
        assert not isinstance(descriptor, list | str | msgspec.Struct)


def test_every_default_is_made_anew() -> None:
    class Made(Struct):
        names: list[str] = []
        nested: Late = field(default_factory=Late)

    one, other = Made(), Made()
    one.names.append("x")
    one.nested.size = 1

    assert other == Made()


# -- Corners ---------------------------------------------------------------------------------------------------


class Corner(Struct):
    NULLABLE = ("size",)

    size: int | None = None
    other: int | None = None
    gaps: list[int | None] = []
    named: dict[str, Late | None] = {}
    unknown: str | None = None


class Cornered(Object):
    GVK = GroupVersionKind("example.com", "v1", "Cornered")

    items: str | None = None
    spec: Corner = field(default_factory=Corner)


def test_null_is_kept_where_it_is_a_value_of_its_own() -> None:
    for read in (
        Corner.from_json(b'{"size":null,"other":null}'),
        Corner.from_dict({"size": None, "other": None}),
    ):
        read.gaps = [1]
        assert read.size is None
        assert read.to_dict() == {"size": None, "gaps": [1]}

    corner = Corner(size=3)
    corner.size = None
    assert corner.to_dict() == {"size": None}
    del corner.size
    assert corner.to_dict() == {}


def test_lists_and_maps_may_hold_nulls_where_their_type_says_so() -> None:
    data = {"gaps": [1, None], "named": {"a": None, "b": {"size": 1}}}

    for read in (Corner.from_dict(data), Corner.from_dict({**data, "new": 1}), Corner(**data)):  # type: ignore[arg-type]
        assert read.gaps == [1, None]
        assert read.named == {"a": None, "b": Late(size=1)}
    with pytest.raises(DecodeError, match=r"args\[0\]: expected a string, got null"):
        Container.from_dict({"args": [None]})


def test_an_unknown_field_never_takes_the_place_of_another() -> None:
    data = {"unknown": "mine", "not-a-name": 1, "neither this": 2, "unknown_": 3}

    assert Corner.from_dict(data).to_dict() == data


@pytest.mark.parametrize("key", ['x"y', "x\\y", "x\ny", "\x00"])
def test_a_field_whose_name_must_be_escaped_is_refused(key: str) -> None:
    with pytest.raises(DecodeError, match="is not a field name"):
        Corner.from_dict({key: 1})
    with pytest.raises(DecodeError, match="is not a field name"):
        Corner.from_json(msgspec.json.encode({key: 1}))


def test_a_kind_may_have_a_section_called_items() -> None:
    odd = Cornered.from_json(b'{"items":"text","newer":1}')

    assert odd.items == "text"
    assert odd.to_dict()["newer"] == 1


def test_a_field_that_is_not_there_cannot_be_deleted() -> None:
    with pytest.raises(AttributeError, match='has no field "siez"; did you mean "size"'):
        del Corner().siez  # type: ignore[attr-defined]
