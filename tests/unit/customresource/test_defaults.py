"""Defaults: what is required, what the server sets, and what an unset field reads as."""

from __future__ import annotations

import copy
import enum
import pickle
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

import pytest
from tests.unit.customresource.making import make_kind, make_struct, schema_of

import masthead
from masthead import CustomResource, Quantity
from masthead.api.core.v1 import ContainerPort, ResourceRequirements
from masthead.crd import Field
from masthead.errors import CustomResourceError, DecodeError
from masthead.meta import Struct, field

Plain = dict[str, Any]


class Mode(enum.StrEnum):
    FAST = "fast"
    SLOW = "slow"


class Retry(Struct):
    count: int = 3
    delay: str


class Cache(Struct):
    enabled: bool = True
    paths: list[str] = ["/"]


class Everything(Struct):
    image: str
    nothing: str | None
    size: int = 1
    ratio: float = 2
    scale: Annotated[float | None, Field(minimum=1)] = 4
    name: str = ""
    optional: int | None = None
    mode: Mode = Mode.FAST
    protocol: Literal["tcp", "udp"] = "tcp"
    memory: Quantity = Quantity("1Gi")
    since: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    tags: list[str] = []
    labels: dict[str, str] = {}
    ports: list[int] = [80, 443]
    limits: dict[str, Quantity] = {"cpu": Quantity("1")}
    cache: Cache = Cache()
    other_cache: Cache = field(default_factory=Cache)
    retry: Retry = Retry(delay="1s")
    retries: list[Retry] = [Retry(count=1, delay="2s")]
    resources: ResourceRequirements = ResourceRequirements()
    server_only: Annotated[int | None, Field(default=7)] = None
    demanded: Annotated[int, Field(required=True)] = 4
    on_the_wire: str = field(name="onWire", default="x")


class Thing(CustomResource, group="example.com", version="v1"):
    spec: Everything
    status: Cache


SPEC = schema_of(Thing)["properties"]["spec"]
DEFAULTS = {name: each["default"] for name, each in SPEC["properties"].items() if "default" in each}


def test_fields_without_a_default_are_required_but_never_the_status() -> None:
    assert schema_of(Thing)["required"] == ["spec"]
    assert SPEC["required"] == ["image", "nothing", "demanded"]


def test_a_required_field_that_may_be_none_is_nullable() -> None:
    assert SPEC["properties"]["nothing"]["nullable"] is True
    assert "nullable" not in SPEC["properties"]["optional"]
    assert Everything(nothing=None, image="x").to_json() == b'{"image":"x","nothing":null}'


def test_defaults_are_defaults_of_the_schema() -> None:
    assert DEFAULTS == {
        "size": 1,
        "ratio": 2,
        "scale": 4,
        "name": "",
        "mode": "fast",
        "protocol": "tcp",
        "memory": "1Gi",
        "since": "2026-01-01T00:00:00Z",
        "ports": [80, 443],
        "limits": {"cpu": "1"},
        "cache": {},
        "otherCache": {},
        "retry": {"delay": "1s"},
        "retries": [{"count": 1, "delay": "2s"}],
        "serverOnly": 7,
        "demanded": 4,
        "onWire": "x",
    }


def test_an_unset_field_reads_as_its_default() -> None:
    spec = Everything(image="nginx", nothing=None)

    assert (spec.size, spec.ratio, spec.name, spec.optional) == (1, 2.0, "", None)
    assert (type(spec.ratio), type(spec.scale)) == (float, float)
    assert (spec.mode, spec.protocol, spec.memory) == (Mode.FAST, "tcp", Quantity("1Gi"))
    assert spec.since == datetime(2026, 1, 1, tzinfo=UTC)
    assert (spec.tags, spec.labels, spec.ports, spec.limits) == ([], {}, [80, 443], {"cpu": Quantity("1")})
    assert (spec.cache.enabled, spec.cache.paths, spec.retry.delay, spec.retry.count) == (
        True,
        ["/"],
        "1s",
        3,
    )
    assert spec.retries[0] == Retry(count=1, delay="2s")
    assert spec.resources.limits == {}


def test_reading_defaults_changes_nothing() -> None:
    thing = Thing.from_wire(b'{"metadata":{"name":"a"},"spec":{"image":"x"}}')
    assert (thing.spec.ports, thing.spec.retry.count) == ([80, 443], 3)
    assert (thing.spec.retries[0].delay, thing.spec.cache.paths) == ("2s", ["/"])

    assert not thing.is_modified()
    assert thing.spec.to_json() == b'{"image":"x"}'
    assert thing == Thing.from_wire(b'{"metadata":{"name":"a"},"spec":{"image":"x"}}')


def test_a_default_that_is_changed_is_written_whole() -> None:
    spec = Everything(image="x", nothing=None)
    spec.ports.append(8080)
    spec.limits["memory"] = Quantity("1")
    spec.retry.count = 9
    spec.cache.paths.append("/a")

    assert spec.to_dict() == {
        "image": "x",
        "nothing": None,
        "ports": [80, 443, 8080],
        "limits": {"cpu": "1", "memory": "1"},
        "cache": {"paths": ["/", "/a"]},
        "retry": {"count": 9, "delay": "1s"},
    }


def test_instances_do_not_share_their_defaults() -> None:
    one, other = Everything(image="x", nothing=None), Everything(image="x", nothing=None)
    one.ports.append(1)
    one.retries[0].count = 5
    one.retry.delay = "9s"

    assert (other.ports, other.retries[0].count, other.retry.delay) == ([80, 443], 1, "1s")
    assert one != other


def test_a_default_that_is_set_explicitly_is_written() -> None:
    spec = Everything(image="x", nothing="y", size=1, mode=Mode.FAST)

    assert spec.to_dict() == {"image": "x", "nothing": "y", "size": 1, "mode": "fast"}


def test_an_unset_default_equals_an_explicit_one() -> None:
    unset = Everything(image="x", nothing=None)
    explicit = Everything.from_dict({"image": "x", "nothing": None, **{name: DEFAULTS[name] for name in DEFAULTS}})
    del explicit.server_only

    assert unset == explicit
    assert copy.deepcopy(unset) == explicit
    assert pickle.loads(pickle.dumps(explicit)) == unset


def test_deleting_a_field_restores_its_default() -> None:
    spec = Everything(image="x", nothing=None, size=5, ports=[1], retry=Retry(delay="x"))
    del spec.size, spec.ports, spec.retry

    assert (spec.size, spec.ports, spec.retry.delay) == (1, [80, 443], "1s")


class Timed(Struct):
    name: str
    size: int
    memory: Quantity
    tags: list[str]
    labels: dict[str, str]
    part: Cache
    port: int | str
    at: datetime
    mode: Mode
    choice: Literal["a", "b"]


def test_an_unset_required_field_reads_as_the_empty_value_of_its_type() -> None:
    timed = Timed()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

    assert (timed.name, timed.size, timed.memory, timed.port) == ("", 0, Quantity(0), 0)
    assert len(timed.choice) == 0
    assert (timed.tags, timed.labels, timed.part.enabled) == ([], {}, True)
    timed.tags.append("x")
    assert timed.to_dict() == {"tags": ["x"]}


@pytest.mark.parametrize("name", ["at", "mode"])
def test_an_unset_required_field_without_an_empty_value_is_no_attribute(name: str) -> None:
    timed = Timed.from_dict({})

    with pytest.raises(AttributeError, match=f"{name} of this Timed is not set, although it is required"):
        getattr(timed, name)
    assert not hasattr(timed, name)
    assert timed == Timed.from_dict({})
    assert timed != Timed.from_dict({"at": "2026-01-01T00:00:00Z"})
    assert repr(timed) == "Timed()"


def test_values_are_checked_when_they_are_set() -> None:
    spec = Everything(image="x", nothing=None)

    with pytest.raises(DecodeError, match='mode: expected "fast" or "slow"'):
        spec.mode = "medium"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(DecodeError, match="since: expected an RFC 3339 time, got a datetime without a time zone"):
        spec.since = datetime(2026, 1, 1)  # noqa: DTZ001
    spec.mode = "slow"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    assert spec.mode is Mode.SLOW


def test_the_server_sets_what_the_class_reads() -> None:
    thing = Thing.new("a", spec={"image": "x", "demanded": 4, "nothing": None})

    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        client.install_crds(Thing)
        stored = client.resource(Thing, namespace="default").create(thing)

    assert stored.spec.to_dict() == {
        "image": "x",
        "nothing": None,
        **DEFAULTS,
        "cache": {"enabled": True, "paths": ["/"]},
        "otherCache": {"enabled": True, "paths": ["/"]},
        "retry": {"count": 3, "delay": "1s"},
    }
    del stored.spec.server_only
    assert stored.spec == thing.spec


def made(annotation: object, default: object) -> Any:
    """A kind whose spec has one field, ``it``, with a default."""
    return make_kind({"spec": make_struct({"it": annotation}, it=default)})


@pytest.mark.parametrize(
    ("annotation", "default", "message"),
    [
        (int, "one", "Thing.spec.it: the default is invalid: expected an integer, got a string"),
        (str, 5, "Thing.spec.it: the default is invalid: expected a string"),
        (float, float("nan"), "Thing.spec.it: the default is invalid: expected a number, got nan"),
        pytest.param(str, object(), "Thing.spec.it: the default is invalid: expected a string", id="object"),
        (list[int], [1, "x"], r"Thing.spec.it: the default is invalid: .*expected an integer"),
        (Retry, {"cuont": 1}, 'Thing.spec.it: the default is invalid: Retry has no field "cuont"'),
        (Retry, Retry(count=1), "Thing.spec.it.delay: .*the default is invalid"),  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        (list[ContainerPort], [ContainerPort(name="x")], r"Thing.spec.it\[0\].containerPort: .*the default is invalid"),
        (Annotated[int, Field(minimum=1)], 0, "Thing.spec.it: .*the default is invalid: .*greater than or equal to 1"),
        (Annotated[str, Field(min_length=1)], "", "Thing.spec.it: .*the default is invalid"),
        (Annotated[list[str], Field(max_items=1)], ["a", "b"], "Thing.spec.it: .*the default is invalid"),
        (Annotated[int, Field(default=2)], 1, "Thing.spec.it: the class says that the default is 1, and Field says 2"),
        (Annotated[int, Field(rules=["self > 5"])], 1, "Thing.spec.it: the default is invalid: .*failed rule: self > 5"),  # noqa: E501
        (Annotated[list[str], Field(list_type="set")], ["a", "a"], "Thing.spec.it.*: .*the default is invalid"),
    ],
    ids=str,
)  # fmt: skip
def test_an_invalid_default_is_refused_when_the_class_is_created(
    annotation: object, default: object, message: str
) -> None:
    with pytest.raises(CustomResourceError, match=message):
        made(annotation, default)


def test_an_empty_type_is_no_default_where_something_in_it_is_required() -> None:
    kind = made(Retry, field(default_factory=cast("Any", Retry)))

    assert "default" not in schema_of(kind)["properties"]["spec"]["properties"]["it"]
    assert kind().spec.it.count == 3


def test_a_name_that_every_type_has_is_refused_with_another_one() -> None:
    with pytest.raises(TypeError, match=r'call the attribute copy_, .*copy_: \.\.\. = field\(name="copy"\)'):
        make_struct({"copy": str}, copy="x")
