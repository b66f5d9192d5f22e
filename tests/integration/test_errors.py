"""Every error names the verb, the object, the reason and what to do next, and is a MastheadError."""

from __future__ import annotations

import logging
import pickle
import socket
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.facades import informer_of
from tests.integration.scripts import client_of
from tests.unit.transport.servers import never

import masthead
from masthead import conditions
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead.api.core.v1 import ConfigMap, Pod, Secret
from masthead.config import Config
from masthead.errors import (
    BY_REASON,
    ArgumentError,
    AuthError,
    BadRequestError,
    ClosedError,
    ConfigError,
    ConflictError,
    ConnectError,
    DeadlineError,
    DecodeError,
    InternalServerError,
    NameFormatError,
    NotFoundError,
    SelectorError,
    StatusError,
    UnknownKindError,
    UnprocessableError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.integration.conftest import Cluster


def the_same(error: BaseException, other: BaseException) -> bool:
    return (type(error), str(error), vars(error)) == (type(other), str(other), vars(other))


@pytest.mark.embedded_only
@pytest.mark.parametrize("kind", BY_REASON.values(), ids=BY_REASON.keys())
async def test_an_error_response_has_every_detail(
    cluster: Cluster, client: Any, namespace: str, kind: type[StatusError]
) -> None:
    assert cluster.embedded is not None
    cluster.embedded.faults.fail(
        kind.usual_code, reason=kind.reason_name, message="because.", namespace=namespace, times=None
    )

    with pytest.raises(masthead.MastheadError) as caught:
        await client.core_v1.config_maps(namespace).patch("settings", Patch.merge({}))

    error = caught.value
    cluster.embedded.faults.clear()
    assert type(error) is kind
    assert isinstance(error, StatusError)
    assert (error.verb, error.resource) == ("patch", "configmaps")
    assert (error.namespace, error.name) == (namespace, "settings")
    assert (error.code, error.reason, error.message) == (kind.usual_code, kind.reason_name, "because.")
    advice = "Fix what the message names." if kind is UnprocessableError else kind.advice
    assert str(error) == (
        f"patch configmaps {namespace}/settings: because. ({kind.usual_code} {kind.reason_name}). {advice}"
    )
    assert the_same(error, pickle.loads(pickle.dumps(error)))


VERBS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "get": lambda maps: maps.get("absent"),
    "update": lambda maps: maps.update(ConfigMap.new("absent")),
    "patch": lambda maps: maps.patch("absent", Patch.merge({"data": {"a": "b"}})),
    "delete": lambda maps: maps.delete("absent"),
}


@pytest.mark.parametrize(("verb", "call"), VERBS.items(), ids=VERBS.keys())
async def test_every_verb_names_itself_and_its_object(
    client: Any, namespace: str, verb: str, call: Callable[[Any], Awaitable[Any]]
) -> None:
    with pytest.raises(NotFoundError) as caught:
        await call(client.core_v1.config_maps(namespace))

    error = caught.value
    assert (error.verb, error.resource) == (verb, "configmaps")
    assert (error.namespace, error.name, error.code) == (namespace, "absent", 404)
    assert str(error).startswith(f"{verb} configmaps {namespace}/absent: ")
    assert "Check name and namespace" in str(error)


async def test_an_error_names_group_and_subresource_too(client: Any, namespace: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        await client.apps_v1.deployments(namespace).get_scale("absent")

    assert str(caught.value).startswith(f"get deployments.apps/scale {namespace}/absent: ")


async def test_an_invalid_object_has_its_causes(client: Any, namespace: str) -> None:
    with pytest.raises(UnprocessableError) as caught:
        await client.core_v1.pods(namespace).create(Pod.new("web", spec={"containers": []}))

    error = pickle.loads(pickle.dumps(caught.value))
    assert "spec.containers" in {cause.field for cause in error.details.causes}
    assert "Fix the fields that the message names; error.details.causes lists them." in str(error)


async def test_a_missing_namespace_is_distinguished_from_a_missing_object(client: Any) -> None:
    with pytest.raises(NotFoundError) as caught:
        await client.core_v1.config_maps("no-such-ns").create(ConfigMap.new("settings"))

    assert str(caught.value) == (
        'create configmaps no-such-ns/settings: namespaces "no-such-ns" not found (404 NotFound). '
        "The namespace is missing: create it, or check its spelling."
    )


async def test_a_kind_without_a_scale_is_reported(client: Any, namespace: str) -> None:
    await client.core_v1.config_maps(namespace).create(ConfigMap.new("settings"))

    with pytest.raises(NotFoundError, match=r"configmaps have no scale\.$"):
        await client.scales(namespace).get("configmaps", "settings")


async def test_an_unsupported_field_selector_is_not_blamed_on_the_body(client: Any, namespace: str) -> None:
    with pytest.raises(BadRequestError, match=r"Select by another field .* or by labels\.$"):
        await client.core_v1.pods(namespace).list(field_selector="spec.foo=bar")


@pytest.mark.real_only
async def test_a_log_of_several_containers_is_that_of_the_first(client: Any, namespace: str) -> None:
    pods = client.core_v1.pods(namespace)
    await client.core_v1.service_accounts(namespace).create({"metadata": {"name": "default"}})
    await pods.create(
        {
            "metadata": {"name": "two"},
            "spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]},
        }
    )

    # No node has started it: the log is empty, and none of the containers is asked for.
    assert not await pods.logs("two").read()
    with pytest.raises(BadRequestError, match="container c is not valid for pod two"):
        await pods.logs("two", container="c").read()


@pytest.mark.real_only
async def test_plain_http_to_a_tls_port_is_reported(cluster: Cluster, facade: str) -> None:
    plain = Config(server=cluster.config.server.replace("https:", "http:"))
    async with connected(plain, facade) as client:
        with pytest.raises(BadRequestError, match="begin its address with https://"):
            await client.core_v1.pods("default").list()


async def test_a_typo_under_server_side_apply_is_not_retryable(client: Any, namespace: str) -> None:
    typo = {"metadata": {"name": "web"}, "spec": {"replcas": 1}}

    with pytest.raises(InternalServerError, match=r"\.spec\.replcas: .* fix the spelling, or leave it out") as caught:
        await client.dynamic("apps/v1", "deployments", namespace=namespace).apply(typo, field_manager="me")

    assert "Try again" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "example"),
    [
        (lambda client: client.core_v1.config_maps().get("x"), "config_maps('default')"),
        (lambda client: client.networking_v1.network_policies().get("x"), "network_policies('default')"),
        (
            lambda client: client.dynamic("apps/v1", "deployments").get("x"),
            "client.dynamic('apps/v1', 'deployments', namespace='default')",
        ),
    ],
)
@pytest.mark.embedded_only
async def test_a_missing_namespace_shows_the_callers_own_example(
    client: Any, call: Callable[[Any], Awaitable[Any]], example: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        await call(client)

    assert str(caught.value).endswith(f"are namespaced; name the namespace: {example}")


@pytest.mark.embedded_only
async def test_plain_data_is_checked_as_new_checks_it(client: Any, namespace: str) -> None:
    maps, pods = client.core_v1.config_maps(namespace), client.core_v1.pods(namespace)
    typo = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "imge": "nginx"}]}}

    for call in (pods.create, pods.update, pods.apply):
        with pytest.raises(DecodeError) as caught:
            await call(typo)
        assert str(caught.value) == (
            'Pod "web": spec.containers[0]: Container has no field "imge"; did you mean "image"?'
        )
        assert 'say field_validation="Warn"' in caught.value.__notes__[0]

    stored = await maps.create({"metadata": {"name": "a"}, "dta": {}}, field_validation="Ignore")
    assert stored.metadata.name == "a"
    with pytest.raises(BadRequestError, match='unknown field "dta"'):
        await maps.create(ConfigMap.from_dict({"metadata": {"name": "b"}, "dta": {}}), field_validation="Strict")


@pytest.mark.embedded_only
async def test_an_object_without_a_name_is_named_with_the_right_article(client: Any, namespace: str) -> None:
    with pytest.raises(ArgumentError, match=r"^to update a ConfigMap, set metadata\.name$"):
        await client.core_v1.config_maps(namespace).update({})
    with pytest.raises(ArgumentError, match=r"^to update an object, set metadata\.name$"):
        await client.dynamic(GroupVersionResource("", "v1", "configmaps"), namespace=namespace).update({})


async def test_a_conflict_advises_to_read_again(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    first = await maps.create(ConfigMap.new("a"))
    await maps.patch("a", Patch.merge({"data": {"x": "1"}}))

    with pytest.raises(ConflictError, match="Read the object again, repeat the change on the new version"):
        await maps.update(first)


BEFORE_ANYTHING_IS_SENT: dict[str, tuple[type[masthead.MastheadError], Callable[[Any], Awaitable[Any]]]] = {
    "a selector": (SelectorError, lambda client: client.core_v1.pods("x").list(label_selector="a in b")),
    "a name": (NameFormatError, lambda client: client.core_v1.pods("x").get("../secrets")),
    "a namespace": (NameFormatError, lambda client: client.core_v1.pods("x/y").get("web")),
    "an empty name": (NameFormatError, lambda client: client.core_v1.pods("x").get("")),
    "no namespace": (ArgumentError, lambda client: client.core_v1.pods().get("web")),
    "a kind": (UnknownKindError, lambda client: client.dynamic("unicorns").list()),
    "a limit": (ArgumentError, lambda client: client.core_v1.pods("x").list(limit=-1)),
    "a timeout": (ArgumentError, lambda client: client.core_v1.pods("x").list(timeout="3")),
    "a time to wait": (
        ArgumentError,
        lambda client: client.core_v1.pods("x").wait_for("web", conditions.exists(), timeout="3"),
    ),
    "a number for a name": (ArgumentError, lambda client: client.core_v1.pods("x").get(3)),
    "a function for a condition": (
        ArgumentError,
        lambda client: client.core_v1.pods("x").wait_for("web", conditions.exists),
    ),
}


@pytest.mark.parametrize(("kind", "call"), BEFORE_ANYTHING_IS_SENT.values(), ids=BEFORE_ANYTHING_IS_SENT)
@pytest.mark.embedded_only
async def test_invalid_arguments_are_rejected_before_anything_is_sent(
    cluster: Cluster, client: Any, kind: type[masthead.MastheadError], call: Callable[[Any], Awaitable[Any]]
) -> None:
    assert cluster.embedded is not None
    before = len(cluster.embedded.requests)

    with pytest.raises(masthead.MastheadError) as caught:
        await call(client)

    assert isinstance(caught.value, kind)
    assert isinstance(caught.value, ValueError | LookupError)
    assert len(str(caught.value)) > 20
    sent = [request.path for request in cluster.embedded.requests[before:]]
    assert set(sent) <= {"/api", "/apis"}  # looking up a kind is discovery
    assert the_same(caught.value, pickle.loads(pickle.dumps(caught.value)))


async def test_no_response_in_time_is_a_timeout_error_too(facade: str) -> None:
    async with client_of(never, facade) as client:
        with pytest.raises(TimeoutError) as caught:
            await client.core_v1.pods("shop").get("web", timeout=0.1)

    error = caught.value
    assert isinstance(error, DeadlineError)
    assert (error.verb, error.url) == ("GET", "/api/v1/namespaces/shop/pods/web")
    assert str(error).startswith("get pods shop/web: ")
    assert "within 0.1 s; raise the timeout, or request less; if nothing arrives at all, check the network" in str(
        error
    )
    assert the_same(error, pickle.loads(pickle.dumps(error)))


async def test_a_failed_connection_names_the_server_and_what_to_check(facade: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        async with connected(Config(server=f"http://{place}"), facade, attempts=1) as client:
            with pytest.raises(ConnectError) as caught:
                await client.core_v1.pods("shop").list()

    assert str(caught.value).startswith(f"list pods shop: {place} refused the connection; check that")
    assert the_same(caught.value, pickle.loads(pickle.dumps(caught.value)))


async def test_a_call_on_a_closed_client_raises_closed_error(cluster: Cluster, facade: str) -> None:
    client = connected(cluster.config, facade)
    await client.core_v1.namespaces().get("default")
    await client.close()
    await client.close()

    for call in (client.core_v1.namespaces().get("default"), client.core_v1.pods().list()):
        with pytest.raises(ClosedError, match="closed; make a new one"):
            await call


def test_a_missing_or_broken_kubeconfig_is_reported(tmp_path: Path, facade: str) -> None:
    broken = tmp_path / "config"
    broken.write_text("clusters: [")
    no_config: Any = None
    for options, words in {
        "absent": ({"kubeconfig": tmp_path / "absent"}, "does not exist"),
        "broken": ({"kubeconfig": broken}, str(broken)),
    }.values():
        with pytest.raises(ConfigError, match=words):
            connected(no_config, facade, **options)


async def test_an_unreadable_token_file_is_reported(tmp_path: Path, cluster: Cluster, facade: str) -> None:
    config = Config(server=cluster.config.server, token_file=tmp_path / "absent", ca_file=cluster.config.ca_file)
    async with connected(config, facade) as client:
        with pytest.raises(AuthError, match="check that it exists and that this process may read it") as caught:
            await client.core_v1.namespaces().get("default")

    assert isinstance(caught.value, masthead.MastheadError)
    assert the_same(caught.value, pickle.loads(pickle.dumps(caught.value)))


@pytest.mark.embedded_only
async def test_log_lines_name_the_server(
    cluster: Cluster, client: Any, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.embedded is not None
    place = cluster.config.server.partition("://")[2]
    caplog.set_level(logging.DEBUG, "masthead")
    cluster.embedded.faults.fail(503, verb="get", namespace=namespace)
    maps = client.core_v1.config_maps(namespace)
    await maps.create({"metadata": {"name": "a"}, "dta": {}}, field_validation="Warn")
    await maps.get("a")
    async with informer_of(maps) as informer:
        await informer.wait_for_cache_sync(30)

    ours = [record.getMessage() for record in caplog.records if record.name.startswith("masthead.")]
    assert all(place in each for each in ours)
    assert f'{place} warns: create configmaps {namespace}/a: unknown field "dta"' in ours
    assert f"informer configmaps of {place} has synced: 1 object in" in "\n".join(ours)
    assert any("the server was not ready; retrying in" in each for each in ours)
    assert any("/configmaps?fieldValidation=Warn: 201 after" in each for each in ours)


async def test_a_server_that_is_down_is_an_error_after_three_attempts(facade: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        config = Config(server=f"http://127.0.0.1:{bound.getsockname()[1]}", origin="my notes")
        async with connected(config, facade) as client:
            with pytest.raises(ConnectError) as caught:
                await client.core_v1.pods("shop").list()

    assert caught.value.attempts == 3
    assert str(caught.value).endswith("that the port is right (the address is from my notes)")


async def test_a_rejected_change_of_a_secret_does_not_show_its_data(client: Any, namespace: str) -> None:
    secrets = client.core_v1.secrets(namespace)
    await secrets.create(Secret.new("web", data={"password": b"hunter2"}))

    for change in ({"data": 5}, {"data": {"other": 5}}, {"stringData": {"other": 5}}, {"type": 5}):
        with pytest.raises(StatusError) as refused:
            await secrets.patch("web", Patch.merge(change))
        assert "aHVudGVyMg" not in str(refused.value)
