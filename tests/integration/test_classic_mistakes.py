"""The classic mistakes, each with a message that names cause and remedy.

A row is a program and what its error says, in order. The last rows are warnings, because the program goes on.
"""

from __future__ import annotations

import asyncio
import gc
import os
import re
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
import masthead.server
from masthead import conditions
from masthead.api.core.v1 import ConfigMap, Container, Pod
from masthead.config import Config
from masthead.errors import ArgumentError
from masthead.meta import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead.server import Server


class Program:
    """What the programs of the table work with."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.client = masthead.Client(kubeconfig=server.kubeconfig())
        self.pods = self.client.core_v1.pods("default")
        self.maps = self.client.core_v1.config_maps("default")

    def async_client(self) -> masthead.aio.Client:
        return masthead.aio.Client(kubeconfig=self.server.kubeconfig())


def no_kubeconfig(_: Program) -> None:
    masthead.Client(masthead.config.load(environ={"HOME": "/nonexistent"}))


def missing_kubeconfig(_: Program) -> None:
    masthead.Client(kubeconfig="/nonexistent/config")


def wrong_context(program: Program) -> None:
    masthead.Client(kubeconfig=program.server.kubeconfig(), context="prod")


def expired_token(program: Program) -> None:
    with masthead.Client(Config(server=program.server.url, token="expired")) as client:
        client.core_v1.pods("default").list()


def token_over_plain_http(_: Program) -> None:
    masthead.Client(Config(server="http://10.0.0.1", token="t"))


def server_that_is_down(_: Program) -> None:
    with masthead.Client(Config(server="http://127.0.0.1:1"), attempts=1) as client:
        client.core_v1.pods("default").list()


def with_of_an_async_client(program: Program) -> None:
    client: Any = program.async_client()
    with client:
        pass


def async_with_of_a_blocking_client(program: Program) -> None:
    async def main() -> None:
        client: Any = program.client
        async with client:
            pass

    asyncio.run(main())


def with_of_an_async_informer(program: Program) -> None:
    async def main() -> None:
        async with program.async_client() as client:
            informer: Any = masthead.aio.SharedInformer(client.core_v1.pods("default"))
            with informer:
                pass

    asyncio.run(main())


def one_client_on_two_loops(program: Program) -> None:
    async def create() -> masthead.aio.Client:
        return program.async_client()

    async def use(client: masthead.aio.Client) -> None:
        await client.core_v1.pods("default").list()

    # Two runners, so that the client can be closed on the loop that it belongs to.
    with asyncio.Runner() as first:
        client = first.run(create())
        first.run(use(client))
        try:
            asyncio.run(use(client))
        finally:
            first.run(client.close())


def use_after_close(program: Program) -> None:
    with masthead.Client(kubeconfig=program.server.kubeconfig()) as client:
        pods = client.core_v1.pods("default")
    pods.list()


def use_after_fork(program: Program) -> None:
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        try:
            program.pods.list()
        except Exception as error:  # noqa: BLE001 - whatever it says
            os.write(writable, str(error).encode())
        # Without the handlers at exit, which belong to the parent.
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writable)
    with os.fdopen(readable) as said:
        raise RuntimeError(said.read())


def unstarted_informer(program: Program) -> None:
    masthead.SharedInformer(program.pods).wait_for_cache_sync(timeout=1)


def typo_in_a_field(_: Program) -> None:
    pod: Any = Pod.new("web")
    pod.spec.nodename = "node-1"


def camel_case_field(_: Program) -> None:
    pod: Any = Pod.new("web")
    print(pod.spec.nodeName)


def typo_in_an_argument(_: Program) -> None:
    kind: Any = Container
    kind(name="main", imag="nginx")


def typo_in_plain_data(program: Program) -> None:
    program.pods.create({"metadata": {"name": "web"}, "spec": {"container": []}})


def wrong_type_of_a_value(_: Program) -> None:
    kind: Any = ConfigMap
    kind.new("settings", data={"port": 8080})


def one_object_for_a_list(_: Program) -> None:
    kind: Any = Pod
    kind.new("web", spec={"containers": {"name": "main"}})


def create_without_a_name(program: Program) -> None:
    program.maps.create(ConfigMap.new())


def create_in_a_missing_namespace(program: Program) -> None:
    program.client.core_v1.config_maps("shop").create(ConfigMap.new("settings"))


def get_without_a_namespace(program: Program) -> None:
    program.client.core_v1.config_maps.get("settings")


def delete_without_a_name(program: Program) -> None:
    pods: Any = program.pods
    pods.delete(None)


def object_of_another_kind(program: Program) -> None:
    pods: Any = program.pods
    pods.create(ConfigMap.new("settings"))


def update_of_an_old_object(program: Program) -> None:
    old, _ = program.maps.create_or_update(ConfigMap.new("settings", data={"a": "1"}))
    program.maps.patch("settings", masthead.Patch.merge({"data": {"b": "2"}}))
    # Somebody else has written in between.
    old.data["a"] = "3"
    program.maps.update(old)


def apply_without_a_manager(program: Program) -> None:
    program.maps.apply(ConfigMap.new("settings"))


def unknown_resource(program: Program) -> None:
    program.client.dynamic("v1", "podz").list()


def labels_for_a_list(program: Program) -> None:
    pods: Any = program.pods
    pods.list(labels="app=web")


def selector_for_an_iteration(program: Program) -> None:
    maps: Any = program.maps
    list(maps.iter(selector="app=web"))


def continue_with_an_underscore_before(program: Program) -> None:
    pods: Any = program.pods
    pods.list(_continue="token")


def unknown_keyword(program: Program) -> None:
    pods: Any = program.pods
    pods.delete("web", zzz=True)


def namespace_for_a_verb(program: Program) -> None:
    pods: Any = program.client.core_v1.pods
    pods.list(namespace="default")


def namespace_for_a_dynamic_verb(program: Program) -> None:
    deployments: Any = program.client.dynamic("deploy")
    deployments.delete("web", namespace="default")


def synonym_of_an_option_for_a_watch(program: Program) -> None:
    program.pods.watch(since="1")  # type: ignore[call-arg]


def timeout_for_a_watch(program: Program) -> None:
    program.pods.watch(timeout=60)  # type: ignore[call-arg]


def namespace_behind_a_name(program: Program) -> None:
    program.pods.get("web", "default")  # type: ignore[call-overload]


def namespace_behind_a_name_with_await(program: Program) -> None:
    async def main() -> None:
        async with program.async_client() as client:
            await client.core_v1.pods.get("web", "default")  # type: ignore[call-overload]

    asyncio.run(main())


def misspelt_option_of_a_client(program: Program) -> None:
    masthead.Client(kube_config=program.server.kubeconfig())  # type: ignore[call-arg]


def input_for_a_command(program: Program) -> None:
    program.pods.exec("web", ["cat"], input=b"text")  # type: ignore[call-arg]


def several_ports_in_one_option(program: Program) -> None:
    program.pods.port_forward("web", ports=[80, 443])  # type: ignore[call-overload]


def words_in_place_of_a_list(program: Program) -> None:
    program.pods.exec("web", "ls", "-l")  # type: ignore[call-arg]


def text_for_a_process(program: Program) -> None:
    program.pods.open_exec("web", ["cat"], stdin="text")  # type: ignore[arg-type]


def operations_without_a_patch(program: Program) -> None:
    program.maps.patch("web", [{"op": "remove", "path": "/data"}])  # type: ignore[arg-type]


def operations_in_a_merge_patch(_: Program) -> None:
    Patch.merge([{"op": "remove", "path": "/data"}])  # type: ignore[arg-type]


def plain_data_for_an_object(program: Program) -> None:
    program.maps.create_or_get({"metadata": {"name": "web"}})  # type: ignore[arg-type]


def selector_without_a_keyword(program: Program) -> None:
    program.pods.list("app=web")  # type: ignore[call-arg]


def misspelt_option_of_a_run(_: Program) -> None:
    masthead.Manager("shop").run(namespace="shop")  # type: ignore[call-arg]


def default_for_a_lister(program: Program) -> None:
    informer = masthead.SharedInformerFactory(program.client).informer(Pod)
    informer.lister.get("web", default=None)  # type: ignore[call-arg]


def past_tense_for_a_handler(program: Program) -> None:
    masthead.SharedInformerFactory(program.client).informer(Pod).add_event_handler(on_added=print)  # type: ignore[call-arg]


def function_in_place_of_a_handler(program: Program) -> None:
    masthead.SharedInformerFactory(program.client).informer(Pod).add_event_handler(print)  # type: ignore[arg-type]


def namespace_for_a_cluster_scoped_kind(program: Program) -> None:
    nodes: Any = program.client.core_v1.nodes
    nodes.list(namespace="default")


def watch_for_a_list(program: Program) -> None:
    pods: Any = program.pods
    pods.list(watch=True)


def manager_for_a_dynamic_apply(program: Program) -> None:
    maps: Any = program.client.dynamic("v1", "configmaps", namespace="default")
    maps.apply({"metadata": {"name": "shared"}}, manager="me")


def labels_for_an_informer(program: Program) -> None:
    informer: Any = masthead.SharedInformer
    informer(program.pods, labels="app=web")


def header_for_a_raw_request(program: Program) -> None:
    rest: Any = program.client.rest
    rest.get("/version", header={"Accept": "*/*"})


def name_for_a_class(program: Program) -> None:
    client: Any = program.client
    client.resource("gadgets", "default")


def version_that_is_not_served(program: Program) -> None:
    program.client.dynamic("apps/v1beta1", "Deployment", namespace="default").list()


def condition_of_another_kind(program: Program) -> None:
    maps: Any = program.maps
    maps.create(ConfigMap.new("waited"))
    maps.wait_for("waited", conditions.deployment_rolled_out(), timeout=600)


def string_for_a_command(program: Program) -> None:
    pods: Any = program.pods
    pods.exec("web", "ls -l")


def changed_object_of_a_cache(program: Program) -> None:
    program.maps.create_or_get(ConfigMap.new("shared", data={"a": "1"}))
    with masthead.SharedInformer(program.maps, detect_mutations=True) as informer:
        informer.wait_for_cache_sync(timeout=60)
        informer.lister.namespace("default").get("shared").data["a"] = "2"
        informer.check_mutations()


ERRORS: list[tuple[Callable[[Program], None], type[Exception], str, str]] = [
    # program, error, cause, remedy
    (
        no_kubeconfig,
        masthead.errors.ConfigError,
        "no cluster was found",
        "Name a kubeconfig, or",
    ),
    (missing_kubeconfig, masthead.errors.ConfigError, "/nonexistent/config: does not exist", "Name a kubeconfig, or"),
    (wrong_context, masthead.errors.ConfigError, "there is no context 'prod'", "there are 'masthead'"),
    (expired_token, masthead.errors.UnauthorizedError, "401 Unauthorized", "Renew the credentials"),
    (token_over_plain_http, masthead.errors.ConfigError, "anyone on the network could read", "use https"),
    (server_that_is_down, masthead.errors.ConnectError, "refused the connection", "check that the API server runs"),
    (with_of_an_async_client, TypeError, "this Client is of masthead.aio", "write `async with`"),
    (async_with_of_a_blocking_client, TypeError, "this Client blocks", "write `with`, or use that of masthead.aio"),
    (with_of_an_async_informer, TypeError, "this SharedInformer is of masthead.aio", "write `async with`"),
    (one_client_on_two_loops, RuntimeError, "belongs to another event loop", "create one for each"),
    (use_after_close, masthead.errors.ClosedError, "the client is closed", "make a new one"),
    (unstarted_informer, masthead.errors.InformerStateError, "has not been started", "start\\(\\) it first"),
    (typo_in_a_field, AttributeError, 'PodSpec has no field "nodename"', 'did you mean "node_name"'),
    (camel_case_field, AttributeError, 'PodSpec has no field "nodeName"', 'did you mean "node_name"'),
    (typo_in_an_argument, masthead.errors.DecodeError, 'Container has no field "imag"', 'did you mean "image"'),
    (typo_in_plain_data, masthead.errors.DecodeError, 'Pod "web": spec.*"container"', 'did you mean "containers"'),
    (wrong_type_of_a_value, masthead.errors.DecodeError, 'data\\["port"\\]', "expected a string, got an integer"),
    (one_object_for_a_list, masthead.errors.DecodeError, "spec.containers", "expected a list, got an object"),
    (create_without_a_name, masthead.errors.ArgumentError, "to create an object", "set metadata.name or"),
    (create_in_a_missing_namespace, masthead.errors.NotFoundError, "The namespace is missing", "create it, or check"),
    (get_without_a_namespace, masthead.errors.ArgumentError, "are namespaced", "config_maps\\('default'\\)"),
    (delete_without_a_name, masthead.errors.NameFormatError, "name is needed, not None", "Nothing was sent"),
    (object_of_another_kind, masthead.errors.ArgumentError, "pods are of type Pod", "is of type ConfigMap"),
    (update_of_an_old_object, masthead.errors.ConflictError, "has been modified", "Read the object again, repeat"),
    (apply_without_a_manager, masthead.errors.ArgumentError, "who owns its fields", "field_manager=..., here or"),
    (unknown_resource, masthead.errors.UnknownKindError, 'has no resource "podz"', "the nearest: pods"),
    (changed_object_of_a_cache, masthead.errors.MutationError, "default/shared.*data", "copy"),
    (labels_for_a_list, TypeError, r"pods\.list\(\) .* 'labels'", "did you mean 'label_selector'"),
    (selector_for_an_iteration, TypeError, r"config_maps\.iter\(\) .* 'selector'", "did you mean 'label_selector'"),
    (continue_with_an_underscore_before, TypeError, r"pods\.list\(\) .* '_continue'", "did you mean 'continue_'"),
    (unknown_keyword, TypeError, r"pods\.delete\(\) .* 'zzz'", "it takes grace_period_seconds, .*, timeout"),
    (namespace_for_a_verb, TypeError, r"pods\.list\(\) .* 'namespace'", r"before the verb: pods\('default'\)"),
    (namespace_for_a_dynamic_verb, TypeError, r"deploy\.delete\(\)", r"dynamic\('deploy', namespace='default'\)"),
    (synonym_of_an_option_for_a_watch, TypeError, r"watch\(\) .* 'since'", "did you mean 'resource_version'"),
    (timeout_for_a_watch, TypeError, r"watch\(\) .* 'timeout'", "did you mean 'timeout_seconds'"),
    (
        namespace_behind_a_name,
        TypeError,
        r"get\(\) takes name, and got 1 more",
        r"before the verb, as in pods\('default'\)",
    ),
    (namespace_behind_a_name_with_await, TypeError, r"get\(\) takes name, and got 1 more", "before the verb"),
    (misspelt_option_of_a_client, TypeError, r"Client\(\) .* 'kube_config'", "did you mean 'kubeconfig'"),
    (input_for_a_command, TypeError, r"exec\(\) .* 'input'", "as stdin"),
    (several_ports_in_one_option, TypeError, r"port_forward\(\) .* 'ports'", r"port_forward\('web', 80, 443\)"),
    (words_in_place_of_a_list, TypeError, r"exec\(\) takes name, command", r"as a list, such as \['ls', '-l'\]"),
    (text_for_a_process, ArgumentError, "stdin='text'", "open_exec takes stdin=True"),
    (operations_without_a_patch, ArgumentError, "patch is of type list", r"Patch\.json"),
    (operations_in_a_merge_patch, ArgumentError, "a mapping, not a list", r"Patch\.json takes a list"),
    (plain_data_for_an_object, ArgumentError, "not a dict", r"ConfigMap\.from_dict"),
    (selector_without_a_keyword, TypeError, r"list\(\)", "takes keywords only"),
    (misspelt_option_of_a_run, TypeError, r"run\(\) .* 'namespace'", "did you mean 'namespaces'"),
    (default_for_a_lister, TypeError, r"get\(\) .* 'default'", "get_by_key returns None"),
    (past_tense_for_a_handler, TypeError, r"add_event_handler\(\) .* 'on_added'", "did you mean 'on_add'"),
    (function_in_place_of_a_handler, ArgumentError, "is no handler: it has no on_add", "pass it as on_add="),
    (namespace_for_a_cluster_scoped_kind, TypeError, r"nodes\.list\(\)", "nodes are cluster-scoped: leave it out"),
    (watch_for_a_list, TypeError, r"pods\.list\(\) .* 'watch'", r"pods\.watch\(\) watches"),
    (manager_for_a_dynamic_apply, TypeError, r"configmaps\.apply\(\)", "did you mean 'field_manager'"),
    (labels_for_an_informer, TypeError, r"SharedInformer\(\) .* 'labels'", "did you mean 'label_selector'"),
    (header_for_a_raw_request, TypeError, "a GET request .* 'header'", "did you mean 'headers'"),
    (name_for_a_class, masthead.errors.ArgumentError, "'gadgets' is no class", r"client\.dynamic\('gadgets'\)"),
    (version_that_is_not_served, masthead.errors.UnknownKindError, 'no resource "Deployment"', "served as apps/v1"),
    (condition_of_another_kind, masthead.errors.ArgumentError, "kind Deployment, and default/waited", "use conditions"),
    (string_for_a_command, masthead.errors.ArgumentError, "a command is a list of strings", '\\["sh", "-c", '),
]


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    with masthead.server.run() as server:
        made = Program(server)
        with made.client:
            yield made


@pytest.mark.parametrize(
    ("mistake", "error", "cause", "remedy"), ERRORS, ids=lambda part: getattr(part, "__name__", "")
)
def test_the_message_names_cause_and_remedy(
    mistake: Callable[[Program], None], error: type[Exception], cause: str, remedy: str, program: Program
) -> None:
    with pytest.raises(error) as raised:
        mistake(program)

    assert re.search(f"{cause}.*{remedy}", str(raised.value), re.DOTALL), str(raised.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_client_says_that_the_process_was_forked(program: Program) -> None:
    with pytest.raises(RuntimeError, match=r"before the process was forked.*make a new one here"):
        use_after_fork(program)


def test_an_unsynced_informer_warns_that_objects_are_missing(program: Program) -> None:
    informer = masthead.SharedInformer(program.pods)

    with pytest.warns(RuntimeWarning, match=r"before their informer has synced.*wait_for_cache_sync\(\) first"):
        informer.lister.list()


def test_a_missing_await_is_named_by_python(program: Program) -> None:
    async def main() -> None:
        async with program.async_client() as client:
            pods: Any = client.core_v1.pods("default")
            for _ in pods.list():
                pass

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(TypeError, match="'coroutine' object is not iterable"):
            asyncio.run(main())
        # The warning comes when the coroutine is collected.
        gc.collect()

    assert any("coroutine 'ReadVerbs.list' was never awaited" in str(warning.message) for warning in caught)
