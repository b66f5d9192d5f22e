"""Conversion of custom resources by webhook, over HTTPS on the loopback interface."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import APPLY_PATCH, MERGE_PATCH, Caller
from tests.server.conversion_webhook import ConversionWebhook
from tests.server.custom_definitions import DEFINITIONS, NAME, WIDGETS, define, version_of, widget

from masthead.errors import ArgumentError
from masthead.meta import Unstructured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.server.quiet_cluster import QuietCluster

    Plain = dict[str, Any]

SECOND = WIDGETS.replace("/v1/", "/v2/")
BEGINNING = "conversion webhook for example.com/v1, Kind=Widget"


@pytest.fixture
def webhook() -> Iterator[ConversionWebhook]:
    with ConversionWebhook() as running:
        yield running


def define_converted(cluster: QuietCluster, conversion: Plain) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=conversion)


@pytest.mark.slow
def test_an_object_is_converted_when_it_is_read(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    made = cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))

    found = cluster.call("GET", f"{SECOND}/a")

    assert (found["apiVersion"], found["spec"]) == ("example.com/v2", {"color": "red!"})
    assert found["metadata"] == made["metadata"]
    request = webhook.reviews[-1]["request"]
    assert request["desiredAPIVersion"] == "example.com/v2"
    # A webhook has nothing to do with the version, which a write is only about to set.
    assert "resourceVersion" not in request["objects"][0]["metadata"]


@pytest.mark.slow
def test_a_large_object_is_converted(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    color = "x" * 300_000
    cluster.call("POST", WIDGETS, widget(spec={"color": color}))

    assert cluster.call("GET", f"{SECOND}/a")["spec"] == {"color": f"{color}!"}


@pytest.mark.slow
def test_an_object_is_converted_when_it_is_written(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())

    made = cluster.call("POST", SECOND, widget(version="v2", spec={"color": "red"}))

    assert made["spec"] == {"color": "red!!"}, "to the stored version, and back for the response"
    stored = cluster.call("GET", f"{WIDGETS}/a")
    assert stored["spec"] == {"color": "red!"}
    assert {review["request"]["objects"][0]["metadata"]["uid"] for review in webhook.reviews} == {
        stored["metadata"]["uid"]
    }


@pytest.mark.slow
def test_an_object_is_changed_and_deleted_in_another_version(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    made = cluster.call("POST", WIDGETS, widget(spec={"color": "red"}, metadata={"finalizers": ["a.com/b"]}))

    changed = cluster.call("PATCH", f"{SECOND}/a", {"spec": {"size": 1}}, content_type=MERGE_PATCH)
    assert changed["metadata"]["generation"] == 2
    deleted = cluster.call("DELETE", f"{SECOND}/a")
    assert deleted["apiVersion"] == "example.com/v2"
    assert deleted["metadata"]["uid"] == made["metadata"]["uid"]
    cluster.free(f"{SECOND}/a")

    assert not cluster.is_there(f"{WIDGETS}/a")


@pytest.mark.slow
def test_a_name_is_generated_once(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    body = widget(version="v2")
    body["metadata"] = {"generateName": "a-"}

    made = cluster.call("POST", SECOND, body)

    assert [each["metadata"]["name"] for each in cluster.call("GET", WIDGETS)["items"]] == [made["metadata"]["name"]]


@pytest.mark.slow
def test_a_list_is_converted_in_one_call(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    for name in "abc":
        cluster.call("POST", WIDGETS, widget(name, spec={"color": name}))

    found = cluster.call("GET", SECOND)

    assert [each["spec"]["color"] for each in found["items"]] == ["a!", "b!", "c!"]
    assert [len(review["request"]["objects"]) for review in webhook.reviews] == [3]


@pytest.mark.slow
def test_the_events_of_a_watch_are_converted(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))
    with cluster.caller.watching(f"{SECOND}?watch=1") as stream:

        def color() -> tuple[str, str]:
            event = json.loads(stream.readline())
            return event["type"], event["object"]["spec"]["color"]

        assert color() == ("ADDED", "red!")
        cluster.call("PATCH", f"{WIDGETS}/a", {"spec": {"color": "blue"}}, content_type=MERGE_PATCH)
        assert color() == ("MODIFIED", "blue!")
        cluster.call("DELETE", f"{WIDGETS}/a")
        assert color() == ("DELETED", "blue!")


@pytest.mark.slow
def test_a_watch_ends_when_an_event_cannot_be_converted(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    webhook.code = 500
    cluster.call("POST", WIDGETS, widget())

    with cluster.caller.watching(f"{SECOND}?watch=1") as stream:
        event = json.loads(stream.read())

    assert (event["type"], event["object"]["code"]) == ("ERROR", 500)


def refused(**result: str) -> Callable[[Plain], object]:
    return lambda review: review["response"].update(result=result)


def spoilt(**fields: object) -> Callable[[Plain], object]:
    return lambda review: review["response"]["convertedObjects"][0].update(fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (refused(status="Failure", message="I will not"), " failed: I will not"),
        (
            refused(status="Failure"),
            " failed: response.result.status was 'Failure', not 'Success'",
        ),
        (lambda review: review.pop("response"), " failed: no response provided"),
        (
            lambda review: review["response"].update(convertedObjects=[]),
            " returned 0 objects, expected 1",
        ),
        (
            spoilt(apiVersion="a/v7"),
            " returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received a/v7)",
        ),
        (
            spoilt(kind="Foo"),
            " returned invalid object at index 0: invalid kind (expected Widget, received Foo)",
        ),
        (
            spoilt(metadata={"name": "b"}),
            " returned invalid object: must have the same name: a != b",
        ),
        (
            lambda review: review.update(kind="Foo"),
            (
                ' failed: no kind "Foo" is registered for version "apiextensions.k8s.io/v1"'
                ' in scheme "pkg/util/webhook/client.go:71"'
            ),
        ),
    ],
)
def test_what_a_webhook_may_not_respond(
    cluster: QuietCluster, webhook: ConversionWebhook, change: Callable[[Plain], object], problem: str
) -> None:
    define_converted(cluster, webhook.conversion())
    cluster.call("POST", WIDGETS, widget())
    webhook.change = change

    assert cluster.caller.call("GET", f"{SECOND}/a").failure == (500, "", BEGINNING + problem)
    assert cluster.caller.call("GET", SECOND).code == 500
    assert cluster.caller.call("DELETE", f"{SECOND}/a").code == 500
    assert cluster.is_there(f"{WIDGETS}/a"), "nothing was deleted"


@pytest.mark.slow
def test_labels_may_change_and_all_other_metadata_stays(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    made = cluster.call("POST", WIDGETS, widget(metadata={"labels": {"a": "b"}}))

    def change(review: Plain) -> None:
        metadata = review["response"]["convertedObjects"][0]["metadata"]
        metadata.update(labels={"c": "d"}, finalizers=["x"], generation=7)

    webhook.change = change

    assert cluster.call("GET", f"{SECOND}/a")["metadata"] == {**made["metadata"], "labels": {"c": "d"}}


@pytest.mark.slow
def test_a_webhook_that_is_not_trusted(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion(caBundle=None))
    cluster.call("POST", WIDGETS, widget())

    problem = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert cluster.caller.call("GET", f"{SECOND}/a").failure == (
        500,
        "",
        f'{BEGINNING} failed: Post "{webhook.url}?timeout=30s": {problem}',
    )


@pytest.mark.slow
def test_a_service_that_does_not_exist(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    service = {"namespace": "default", "name": "nowhere", "path": "/convert"}
    define_converted(cluster, webhook.conversion(url=None, service=service))
    cluster.call("POST", WIDGETS, widget())

    address = "https://nowhere.default.svc:443/convert?timeout=30s"
    assert cluster.caller.call("GET", f"{SECOND}/a").failure == (
        500,
        "",
        f'{BEGINNING} failed: Post "{address}": service "nowhere" not found',
    )


@pytest.mark.slow
def test_a_service_is_called_at_its_external_name(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    spec = {"type": "ExternalName", "externalName": "localhost"}
    service = {"metadata": {"name": "conversion"}, "spec": spec}
    cluster.call("POST", "/api/v1/namespaces/default/services", service)
    place = {"namespace": "default", "name": "conversion", "path": "/convert", "port": webhook.port}
    define_converted(cluster, webhook.conversion(url=None, service=place))
    cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))

    assert cluster.call("GET", f"{SECOND}/a")["spec"] == {"color": "red!"}


@pytest.mark.slow
def test_a_service_leads_to_the_port_that_the_test_names(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    service = {"metadata": {"name": "conversion"}, "spec": {"ports": [{"port": 443}]}}
    cluster.call("POST", "/api/v1/namespaces/default/services", service)
    place = {"namespace": "default", "name": "conversion", "path": "/convert"}
    cluster.server.listen_on_service("default/conversion", webhook.port)
    define_converted(cluster, webhook.conversion(url=None, service=place))
    cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))

    assert cluster.call("GET", f"{SECOND}/a")["spec"] == {"color": "red!"}


@pytest.mark.slow
def test_the_stored_version_needs_no_webhook(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))
    cluster.call("PATCH", f"{WIDGETS}/a", {"spec": {"color": "blue"}}, content_type=MERGE_PATCH)
    cluster.call("GET", WIDGETS)
    cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")

    assert webhook.reviews == []
    assert not cluster.is_there(f"{DEFINITIONS}/{NAME}")


@pytest.mark.slow
def test_other_requests_do_not_wait_for_a_webhook(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    cluster.call("POST", WIDGETS, widget())
    other = Caller(cluster.server.url)
    seen: list[int] = []
    webhook.change = lambda _: seen.append(other.call("GET", f"{WIDGETS}/a").code)

    cluster.call("GET", f"{SECOND}/a")

    assert seen == [200]
    other.close()


@pytest.mark.slow
def test_the_rows_of_a_table_are_converted_in_one_call(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    column = {"name": "Color", "type": "string", "jsonPath": ".spec.color"}
    second = version_of("v2", additionalPrinterColumns=[column])
    define(cluster, version_of(), second, conversion=webhook.conversion())
    for name in "ab":
        cluster.call("POST", WIDGETS, widget(name, spec={"color": name}))

    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    found = cluster.caller.call("GET", SECOND, headers={"Accept": table}).json

    assert [row["cells"] for row in found["rows"]] == [["a", "a!"], ["b", "b!"]]
    assert len(webhook.reviews) == 1


@pytest.mark.slow
def test_history_is_that_of_the_stored_version(cluster: QuietCluster, webhook: ConversionWebhook) -> None:
    define_converted(cluster, webhook.conversion())
    cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))
    first, second = (
        Unstructured.from_dict(widget(version=version, metadata={"namespace": "default"})) for version in ("v1", "v2")
    )

    assert [each.type for each in cluster.server.history(first)] == ["ADDED"]
    with pytest.raises(ArgumentError, match="webhook"):
        cluster.server.history(second)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3_000], ids=["small", "large"])
def test_managers_of_other_versions_are_asked_in_theirs(
    cluster: QuietCluster, webhook: ConversionWebhook, size: int
) -> None:
    define_converted(cluster, webhook.conversion())
    first = widget(spec={"color": "red", **{f"a{number}": 1 for number in range(size)}})
    cluster.call("PATCH", f"{WIDGETS}/a?fieldManager=one", first, content_type=APPLY_PATCH)

    second = widget(version="v2", spec={"b": 2})
    made = cluster.call("PATCH", f"{SECOND}/a?fieldManager=two", second, content_type=APPLY_PATCH)
    clash = widget(version="v2", spec={"a0": 3})
    refused = cluster.caller.call("PATCH", f"{SECOND}/a?fieldManager=two", clash, content_type=APPLY_PATCH)

    assert {each["manager"]: each["apiVersion"] for each in made["metadata"]["managedFields"]} == {
        "one": "example.com/v1",
        "two": "example.com/v2",
    }
    assert refused.failure[2] == 'Apply failed with 1 conflict: conflict with "one": .spec.a0'
