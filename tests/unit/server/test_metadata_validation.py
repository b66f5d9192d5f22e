"""The rules for metadata: the messages of kube-apiserver 1.36.4, in their order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.builtin import RESOURCES, strategy_of

from masthead._meta.quoting import quoted
from masthead._schema.errors import format_value
from masthead_server.resources.validation.metadata import create_errors, keep_system_fields, update_errors

if TYPE_CHECKING:
    from masthead_server.resources.strategy import Strategy
    from masthead_server.wire.plain import Plain

CONFIG_MAPS = strategy_of("", "configmaps")
DEPLOYMENTS = strategy_of("apps", "deployments")
BUDGETS = strategy_of("policy", "poddisruptionbudgets")
REQUESTS = strategy_of("certificates.k8s.io", "certificatesigningrequests")
WIDGETS = strategy_of("example.com", "widgets")

KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
UNKNOWN_FINALIZER = "name is neither a standard finalizer name nor is it fully qualified"


def named(**fields: object) -> Plain:
    return {"metadata": {"name": "web", "namespace": "default", **fields}}


def created(**fields: object) -> list[str]:
    return [str(create_error) for create_error in create_errors(named(**fields), CONFIG_MAPS, namespaced=True)]


def updated(new: Plain, old: Plain) -> list[str]:
    return list(dict.fromkeys(str(update_error) for update_error in update_errors(new, old, CONFIG_MAPS)))


def owner(**fields: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", **fields}


@pytest.mark.parametrize("key", sorted(RESOURCES))
def test_plain_metadata_is_fine_for_every_kind_that_is_not_named_by_its_spec(key: tuple[str, str]) -> None:
    if key[1] in {"apiservices", "customresourcedefinitions", "ipaddresses", "storageversions"}:
        return
    obj = named(labels={"app": "web"}, annotations={"Example.com/a": "b c"}, finalizers=["example.com/hold"])

    assert create_errors(obj, strategy_of(*key), namespaced=True) == []
    assert update_errors(obj, obj, strategy_of(*key)) == []


def test_an_object_must_have_a_name() -> None:
    assert created(name="") == ["metadata.name: Required value: name or generateName is required"]


def test_a_bad_prefix_is_reported_with_the_name_generated_from_it() -> None:
    fields = [
        create_error.field
        for create_error in create_errors(named(name="A_x", generateName="A_"), DEPLOYMENTS, namespaced=True)
    ]

    assert fields == ["metadata.generateName", "metadata.name"]


def test_replication_controllers_validate_only_the_generated_name() -> None:
    controllers = strategy_of("", "replicationcontrollers")

    assert create_errors(named(generateName="A_"), controllers, namespaced=True) == []


def test_a_name_that_does_not_fit_into_a_url_is_refused_by_every_kind() -> None:
    expected = "metadata.name: Invalid value: \"a/b\": may not contain '/'"

    assert [str(create_error) for create_error in create_errors(named(name="a/b"), REQUESTS, namespaced=True)] == [
        expected
    ]
    assert [str(create_error) for create_error in create_errors(named(name="a/b"), BUDGETS, namespaced=True)] == [
        expected
    ]


def test_without_a_name_rule_a_bad_path_segment_is_reported_only_if_nothing_else_is_wrong() -> None:
    errors = create_errors(named(name="a/b", labels={"": ""}), REQUESTS, namespaced=True)

    assert {error.field for error in errors} == {"metadata.labels"}


def test_a_namespace_is_required_or_forbidden_by_the_scope() -> None:
    assert created(namespace="") == ["metadata.namespace: Required value"]
    assert created(namespace="a.b") == ['metadata.namespace: Invalid value: "a.b": must not contain dots']
    assert [str(create_error) for create_error in create_errors(named(), CONFIG_MAPS, namespaced=False)] == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


def test_labels_are_checked_by_key_and_value() -> None:
    assert created(labels={"a b": "x"}) == [f'metadata.labels: Invalid value: "a b": name part {KEY}']
    assert created(labels={"a": "x" * 64}) == [
        f'metadata.labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes'
    ]
    assert created(labels={"/": ""}) == [
        'metadata.labels: Invalid value: "/": prefix part must be non-empty',
        'metadata.labels: Invalid value: "/": name part must be non-empty',
        f'metadata.labels: Invalid value: "/": name part {KEY}',
    ]
    assert created(labels={"a/b/c": ""}) == [
        (
            f'metadata.labels: Invalid value: "a/b/c": a valid label key {KEY}'
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )
    ]


def test_annotations_may_have_any_case_in_their_keys_and_256_kibibytes_in_all() -> None:
    assert created(annotations={"Example.COM/A": "x"}) == []
    assert created(annotations={"a": "x" * (256 * 1024 - 1)}) == []
    assert created(annotations={"a": "x" * 256 * 1024}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]
    assert created(annotations={"a": "é" * 128 * 1024}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_an_owner_reference_must_be_whole() -> None:
    assert created(ownerReferences=[owner(apiVersion="apps/", kind="", name="", uid="")]) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]


def test_an_event_cannot_be_an_owner() -> None:
    assert created(ownerReferences=[owner(kind="Event", uid="<u>")]) == [
        (
            'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"p",'
            '"uid":"\\u003cu\\u003e"}: /v1, Kind=Event is disallowed from being an owner'
        )
    ]
    assert created(ownerReferences=[owner(apiVersion="events.k8s.io/v1", kind="Event")]) == []


def test_there_is_one_controller_at_most() -> None:
    references = [owner(name=name, controller=True) for name in ("a", "b")]
    (error,) = create_errors(named(ownerReferences=references), CONFIG_MAPS, namespaced=True)

    assert error.field == "metadata.ownerReferences"
    assert error.detail == (
        'Only one reference can have Controller set to true. Found "true" in references for Pod/a and Pod/b'
    )


def test_finalizers_of_built_in_kinds_have_a_domain_or_are_known() -> None:
    assert created(finalizers=["kubernetes", "orphan", "a.com/b"]) == []
    assert created(finalizers=["a.com/b", "mine"]) == [
        f'metadata.finalizers[1]: Invalid value: "mine": {UNKNOWN_FINALIZER}'
    ]
    assert create_errors(named(finalizers=["mine"]), WIDGETS, namespaced=True) == []


def test_dependents_are_either_orphaned_or_awaited() -> None:
    assert created(finalizers=["orphan", "foregroundDeletion"]) == [
        (
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]:'
            " finalizer orphan and foregroundDeletion cannot be both set"
        )
    ]


def test_a_generation_is_not_negative() -> None:
    assert created(generation=-1) == ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]


def test_all_errors_are_reported_in_kube_apiservers_order() -> None:
    errors = create_errors(
        named(
            name="A",
            namespace="",
            generation=-1,
            labels={"": "-"},
            annotations={"": ""},
            ownerReferences=[owner(kind="")],
            finalizers=["x y"],
            managedFields=[{"manager": "m" * 129}],
        ),
        CONFIG_MAPS,
        namespaced=True,
    )

    assert list(dict.fromkeys(error.field for error in errors)) == [
        "metadata.name",
        "metadata.namespace",
        "metadata.generation",
        "metadata.labels",
        "metadata.annotations",
        "metadata.ownerReferences.kind",
        "metadata.finalizers",
        "metadata.managedFields[0].manager",
        "metadata.finalizers[0]",
    ]


def test_an_update_cannot_change_the_identity_of_an_object() -> None:
    old = named(uid="u", creationTimestamp="2024-01-01T00:00:00Z")
    new = named(uid="v", name="other", deletionTimestamp="2024-01-02T00:00:00Z", deletionGracePeriodSeconds=5)

    assert updated(new, old) == [
        'metadata.name: Invalid value: "other": field is immutable',
        'metadata.uid: Invalid value: "v": field is immutable',
        "metadata.creationTimestamp: Invalid value: null: field is immutable",
        'metadata.deletionTimestamp: Invalid value: "2024-01-02T00:00:00Z": field is immutable',
        "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
    ]


def test_a_generation_does_not_go_down() -> None:
    assert updated(named(generation=1), named(generation=2)) == [
        "metadata.generation: Invalid value: 1: must not be decremented"
    ]


def test_no_finalizer_is_added_to_what_is_being_deleted() -> None:
    old = named(deletionTimestamp="2024-01-01T00:00:00Z", finalizers=["a.com/b"])
    new = named(deletionTimestamp="2024-01-01T00:00:00Z", finalizers=["b.com/c", "a.com/b", "a.com/c"])

    assert updated(new, old) == [
        (
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted,"
            ' found new finalizers []string{"a.com/c", "b.com/c"}'
        )
    ]
    assert updated(named(deletionTimestamp="2024-01-01T00:00:00Z"), old) == []


@pytest.mark.parametrize(("strategy", "times"), [(CONFIG_MAPS, 4), (DEPLOYMENTS, 3), (BUDGETS, 2), (WIDGETS, 3)])
def test_an_update_reports_a_bad_label_as_often_as_kube_apiserver_validates_it(strategy: Strategy, times: int) -> None:
    assert len(update_errors(named(labels={"a": "-"}), named(), strategy)) == times


def test_an_update_keeps_the_system_fields() -> None:
    old = named(uid="u", creationTimestamp="2024-01-01T00:00:00Z", generation=4)
    new = named(creationTimestamp="1999-01-01T00:00:00Z", generation=99, deletionGracePeriodSeconds=5)

    keep_system_fields(new, old)

    assert new == named(uid="u", creationTimestamp="2024-01-01T00:00:00Z", generation=4, deletionGracePeriodSeconds=5)


def test_an_update_cannot_cancel_a_deletion() -> None:
    old = named(uid="u", deletionTimestamp="2024-01-01T00:00:00Z", deletionGracePeriodSeconds=0)
    new = named(uid="u", deletionTimestamp="2030-01-01T00:00:00Z")

    keep_system_fields(new, old)

    assert new == old


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ('a"\\', r'"a\"\\"'),
        ("\x00\x07\x0b\x7f\n", r'"\x00\a\v\x7f\n"'),
        ("\u00a0\u2028\ufeff\U000e0001", r'"\u00a0\u2028\ufeff\U000e0001"'),
        ("<é😀>", '"<é😀>"'),
    ],
)
def test_a_string_is_quoted_as_go_quotes_it(value: str, written: str) -> None:
    assert quoted(value) == format_value(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1, "1"),
        (1.0, "1"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        (["<a>"], r'["\u003ca\u003e"]'),
        ({"a": "&\u2028é"}, r'{"a":"\u0026\u2028é"}'),
    ],
)
def test_a_bad_value_is_shown_as_go_shows_it(value: object, written: str) -> None:
    assert format_value(value) == written


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.lists(each, min_size=1)))
def test_a_printed_list_can_be_parsed_again(value: object) -> None:
    assert json.loads(format_value([value])) == [value]
