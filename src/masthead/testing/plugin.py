"""A pytest plugin: an embedded API server for tests, and clients for it.

pytest loads it automatically once masthead is installed::

    def test_the_operator_survives_a_conflict(kube_server, kube_client):
        kube_server.faults.conflict(resource="configmaps")
        my_operator.run_once(kube_client)

========================  ==========================================================================================
Fixture                   Value
========================  ==========================================================================================
``kube_server``           an empty server for the test; stopped after the test
``kube_server_options``   the options of ``kube_server``, as keyword arguments of `masthead.server.run`;
                          override it, or write ``@pytest.mark.kube_server(clock=VirtualClock)``
``shared_kube_server``    one server for the whole run (one per worker of pytest-xdist), for tests that are isolated by
                          namespaces
``kube_namespace``        the name of a namespace for the test in the shared server; deleted after the test
``kubeconfig``            the path of a kubeconfig for any client: of ``shared_kube_server`` in a test that has that one
                          (or ``kube_namespace``) and not ``kube_server``, else of ``kube_server``; ``kubeconfig_file``
                          is the same
``kube_environ``          sets the environment variables that lead any client, and processes of the test, to the server
                          of ``kubeconfig``: ``KUBECONFIG`` and others, restored after the test; its value has them
``kube_config``           the configuration for ``kube_server``: ``masthead.Client(kube_config)``
``kube_client``           a blocking client of ``kube_server``; closed after the test
``kube_aio_client``       an async client of ``kube_server``, in the event loop of the test; closed after the test.
                          For tests that pytest-asyncio (in either mode) or anyio runs, on asyncio
``kube_client_as``        opens clients that act as other users: ``kube_client_as("system:serviceaccount:shop:robot")``,
                          ``kube_client_as("jane", groups=["developers"])``; the server then authorizes by RBAC
``kube_aio_client_as``    opens async clients that act as other users
``shared_kube_config``    the same for ``shared_kube_server``
``shared_kube_client``    a blocking client of ``shared_kube_server``, for the whole run
``kube_environment``      runs managers against a separate server: ``env = kube_environment(app, crds=[Website])``
                          starts a `masthead.testing.BlockingEnvironment`, in virtual time; stopped after the test
``kube_explore``          explores an operator, as `masthead.testing.explore` does, with the options of the command line
``explore_report``        the `masthead.testing.Report` of a test with the mark ``explore``, which then judges itself
========================  ==========================================================================================

The servers run in separate threads, and so serve blocking and async tests: use ``kube_server.block_until_idle()`` in
the former and ``await kube_server.wait_for_idle()`` in the latter. The first test with a server imports it.

Informers of tests with ``kube_server`` or ``kube_namespace`` detect mutations of cached objects (``detect_mutations``):
the test fails with a `masthead.errors.MutationError`, at its end at the latest. ``MASTHEAD_MUTATION_DETECTOR=0`` in the
environment turns this off.

A test with the mark ``explore`` fails if the exploration finds something, before its own code runs::

    @pytest.mark.explore(make_app, workload, budget="30s")
    def test_the_operator_survives_faults(): ...

``--explore-budget 10m`` (or a number of schedules) replaces the budgets of all tests, so that CI explores longer than a
laptop; ``--explore-seed`` replaces the seed, ``--explore-html FOLDER`` writes a page for each exploration.

A failed ``assert one == other`` of two objects prints a diff of their YAML.

A mark is evaluated once, even for a parametrized test: pass the class of a virtual clock, and each server creates its
own instance. The mark of a test without ``kube_server`` is an error; those of classes and modules are for the tests
that have it. Faults of the shared server are removed before and after each test with ``kube_namespace``.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import re
import sys
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from masthead.testing import _plain_imports

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Mapping
    from pathlib import Path
    from typing import Unpack

    from masthead import Client, aio
    from masthead._config.model import Config
    from masthead._meta.object import Object
    from masthead.testing import BlockingEnvironment, Report
    from masthead.testing._configurations import UserAttributes
    from masthead_server.runner import ServerRunner
    from masthead_server.server import Server

__all__ = [
    "explore_report",
    "kube_aio_client",
    "kube_aio_client_as",
    "kube_client",
    "kube_client_as",
    "kube_config",
    "kube_environ",
    "kube_environment",
    "kube_explore",
    "kube_namespace",
    "kube_server",
    "kube_server_options",
    "kubeconfig",
    "kubeconfig_file",
    "pytest_addoption",
    "pytest_assertrepr_compare",
    "pytest_configure",
    "pytest_pyfunc_call",
    "pytest_runtest_call",
    "pytest_runtest_setup",
    "shared_kube_client",
    "shared_kube_config",
    "shared_kube_server",
]

# Before any other import from the package, which pytest would rewrite.
_plain_imports.install()

_MAX_NAME: Final = 63
"""The maximum length of a namespace's name."""
_NOT_IN_NAMES: Final = r"[^a-z0-9]+"
_TIMEOUT: Final = 30
_ASYNCIO: Final = "asyncio"
"""The name of pytest-asyncio's plugin."""
_ACTING_FIXTURES: Final = frozenset({"kube_client_as", "kube_aio_client_as"})
"""The fixtures for clients of other users."""
_SERVER: Final = "kube_server"
_SHARED_SERVER: Final = "shared_kube_server"
_OWN_SERVER: Final = frozenset({_SERVER, "kube_server_options", "kube_aio_client", "kube_aio_client_as"})
"""The fixtures that bring a server of the test's own; all others request one of these."""
_HAS_READ_MARK: Final = pytest.StashKey[bool]()
_MAX_DIFF_LINES: Final = 100
"""The maximum number of lines of a diff."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of explorations."""
    group = parser.getgroup("masthead", "explorations of operators (masthead.testing.explore)")
    group.addoption("--explore-budget", metavar="BUDGET", help="the budget of each exploration: 5m, or a number")
    group.addoption("--explore-seed", type=int, metavar="NUMBER", help="the seed of all explorations")
    group.addoption("--explore-html", metavar="FOLDER", help="write a page about each exploration into this folder")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and the async fixtures if pytest-asyncio is installed."""
    config.addinivalue_line(
        "markers", "kube_server(**options): start kube_server with these arguments of masthead.server.run"
    )
    config.addinivalue_line(
        "markers", "explore(make_app, workload, **options): explore an operator, as masthead.testing.explore does"
    )
    # Its import needs pytest-asyncio.
    if config.pluginmanager.hasplugin(_ASYNCIO):
        from masthead.testing import asyncio_plugin

        config.pluginmanager.register(asyncio_plugin)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Print the diff of two objects, whose reprs only identify them."""
    # Without an import: a run without objects must not load the package.
    meta = sys.modules.get("masthead._meta.object")
    if op != "==" or meta is None or type(left) is not type(right) or not isinstance(left, meta.Object):
        return None
    from masthead.errors import MastheadError

    one, other = cast("Object", left), cast("Object", right)
    if one.kind == "Secret":  # the output of a test run may be published
        return None
    try:
        texts = one.to_yaml().splitlines(), other.to_yaml().splitlines()
    except MastheadError:  # one of the objects cannot be decoded
        return None
    differing = difflib.unified_diff(*texts, "left", "right", n=1, lineterm="")
    return [f"{one!r} == {other!r}", *itertools.islice(differing, _MAX_DIFF_LINES)]


@pytest.fixture
def kube_server_options(request: pytest.FixtureRequest) -> Mapping[str, object]:
    """The options of ``kube_server``, from the marks of the test, its class and its module.

    The closest mark takes precedence. A test with clients of other users (``kube_client_as``) has a server that
    authorizes requests, as with ``authorization="rbac"``.
    """
    request.node.stash[_HAS_READ_MARK] = True
    acts_as_others = not _ACTING_FIXTURES.isdisjoint(request.fixturenames)
    options: dict[str, object] = {"authorization": "rbac"} if acts_as_others else {}
    for mark in reversed(list(request.node.iter_markers("kube_server"))):
        if mark.args:
            raise pytest.UsageError("the mark kube_server accepts keyword arguments only, as masthead.server.run does")
        options |= mark.kwargs  # the closest mark comes last
    return options


@pytest.fixture
def kube_server(kube_server_options: Mapping[str, object]) -> Iterator[Server]:
    """A server for the test."""
    from masthead._cache.informer.mutation_detector import collect_mutations

    with collect_mutations(), _make_server(kube_server_options) as server:
        yield server


def _make_server(options: Mapping[str, object]) -> ServerRunner:
    import masthead.server
    from masthead.testing._server_options import options_problem

    if problem := options_problem("kube_server", options):
        raise pytest.UsageError(problem)
    return masthead.server.run(**cast("dict[str, Any]", options))


@pytest.fixture(scope="session")
def shared_kube_server() -> Iterator[Server]:
    """One server for the whole run."""
    import masthead.server

    with masthead.server.run() as server:
        yield server


@pytest.fixture
def kube_namespace(shared_kube_server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for the test in the shared server, named after the test.

    Faults of the shared server are removed before and after the test.
    """
    from masthead._cache.informer.mutation_detector import collect_mutations

    # A test that failed may have left faults.
    shared_kube_server.faults.clear()
    suffix = f"-{shared_kube_server.revision}"  # unique per test
    slug = re.sub(_NOT_IN_NAMES, "-", request.node.name.lower()).strip("-")
    name = f"{slug[: _MAX_NAME - len(suffix)].strip('-') or 'test'}{suffix}"
    _call(shared_kube_server, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    try:
        with collect_mutations():
            yield name
    finally:
        shared_kube_server.faults.clear()
        _call(shared_kube_server, "DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The path of a kubeconfig for the server of the test: ``kube_server``, unless it has the shared one alone."""
    # By name: a static dependency would start a second server beside the shared one.
    name = _SHARED_SERVER if _has_shared_server_alone(request.fixturenames) else _SERVER
    server = cast("Server", request.getfixturevalue(name))
    return server.write_kubeconfig(tmp_path / "kubeconfig.yaml")


def _has_shared_server_alone(names: Collection[str]) -> bool:
    return _SHARED_SERVER in names and _OWN_SERVER.isdisjoint(names)


@pytest.fixture
def kubeconfig_file(kubeconfig: Path) -> Path:
    """The same as ``kubeconfig``."""
    return kubeconfig


@pytest.fixture
def kube_environ(kubeconfig: Path) -> Iterator[Mapping[str, str]]:
    """Set the environment variables that lead any client to the server of ``kubeconfig``; restored after the test."""
    from masthead.testing._cluster import environ_of

    with environ_of(kubeconfig) as variables:
        yield variables


@pytest.fixture
def kube_config(kube_server: Server) -> Config:
    """The configuration for ``kube_server``. In an async test: ``async with Client(kube_config) as client``."""
    from masthead.testing._configurations import config_of

    return config_of(kube_server)


@pytest.fixture
def kube_client(kube_config: Config) -> Iterator[Client]:
    """A blocking client of ``kube_server``."""
    import masthead

    with masthead.Client(kube_config) as client:
        yield client


@pytest.fixture
def kube_client_as(kube_config: Config) -> Iterator[Callable[..., Client]]:
    """Open blocking clients of ``kube_server`` that act as other users, which roles and bindings limit.

    ``kube_client_as("system:serviceaccount:default:operator")`` acts as a service account, with the groups that it has
    in every cluster; ``kube_client_as("jane", groups=["developers"])`` as any user. Further arguments are those of
    `masthead.config.Impersonation`.
    """
    import masthead
    from masthead.testing._configurations import config_as

    with contextlib.ExitStack() as stack:

        def open_client(user: str, **attributes: Unpack[UserAttributes]) -> Client:
            return stack.enter_context(masthead.Client(config_as(kube_config, user, **attributes)))

        yield open_client


@pytest.fixture
def kube_aio_client(request: pytest.FixtureRequest) -> aio.Client:
    """An async client of ``kube_server``, opened and closed by the plugin that runs the test."""
    return cast("aio.Client", _async_fixture(request, "kube_aio_client", "kube_client"))


@pytest.fixture
def kube_aio_client_as(request: pytest.FixtureRequest) -> Callable[..., aio.Client]:
    """Open async clients of ``kube_server`` that act as other users; see ``kube_client_as``."""
    return cast("Callable[..., aio.Client]", _async_fixture(request, "kube_aio_client_as", "kube_client_as"))


def _async_fixture(request: pytest.FixtureRequest, name: str, suffix: str) -> object:
    # The plugin that runs the test must also run the fixture, or the client would belong to another event loop.
    if "anyio_backend" in request.fixturenames:
        return request.getfixturevalue(f"_anyio_{suffix}")
    if request.config.pluginmanager.hasplugin(_ASYNCIO):
        return request.getfixturevalue(f"_asyncio_{suffix}")
    raise pytest.UsageError(
        f"{name} is for async tests: install pytest-asyncio, or mark the test with pytest.mark.anyio"
    )


@pytest.fixture(name="_anyio_kube_client")
async def _anyio_kube_client(kube_config: Config) -> AsyncIterator[aio.Client]:
    """The ``kube_aio_client`` of tests with anyio."""
    import masthead.aio

    async with masthead.aio.Client(kube_config) as client:
        yield client


@pytest.fixture(name="_anyio_kube_client_as")
async def _anyio_kube_client_as(kube_config: Config) -> AsyncIterator[Callable[..., aio.Client]]:
    """The ``kube_aio_client_as`` of tests with anyio."""
    from masthead.testing._configurations import acting_clients

    async with acting_clients(kube_config) as make:
        yield make


@pytest.fixture(scope="session")
def shared_kube_config(shared_kube_server: Server) -> Config:
    """The configuration for ``shared_kube_server``."""
    from masthead.testing._configurations import config_of

    return config_of(shared_kube_server)


@pytest.fixture(scope="session")
def shared_kube_client(shared_kube_config: Config) -> Iterator[Client]:
    """A blocking client of ``shared_kube_server``."""
    import masthead

    with masthead.Client(shared_kube_config) as client:
        yield client


@pytest.fixture
def kube_environment() -> Iterator[Callable[..., BlockingEnvironment]]:
    """Start environments, with the arguments of `masthead.testing.BlockingEnvironment`."""
    from masthead.testing import BlockingEnvironment

    with contextlib.ExitStack() as stack:
        yield lambda *managers, **options: stack.enter_context(BlockingEnvironment(*managers, **options))


@pytest.fixture
def kube_explore(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Explore operators, with the arguments of `masthead.testing.explore`; options of the command line win."""
    from masthead.testing import _explore_plugin

    return _explore_plugin.explorer_for(request.node)


@pytest.fixture
def explore_report(request: pytest.FixtureRequest) -> Report:
    """The report of a test with the mark ``explore``."""
    from masthead.testing import _explore_plugin

    return _explore_plugin.explore_marked(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a mark for the shared server, whose options no test may choose."""
    if isinstance(item, pytest.Function) and _has_own_mark(item) and _has_shared_server_alone(item.fixturenames):
        problem = f"the mark kube_server of {item.name} has no effect on shared_kube_server, which all tests share"
        pytest.fail(f"{problem}. Leave the mark out, or use kube_server", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test whose mark nothing has read."""
    yield
    if not isinstance(item, pytest.Function) or not _has_own_mark(item):
        return
    # The project may have a fixture of the name with options of its own.
    if _HAS_READ_MARK not in item.stash and _OWN_SERVER.isdisjoint(item.fixturenames):
        problem = f"the mark kube_server of {item.name} has no effect: no fixture of the test starts kube_server"
        pytest.fail(f"{problem}. Use it, or a fixture for it, such as kube_client", pytrace=False)


def _has_own_mark(item: pytest.Function) -> bool:
    """Whether the test itself has the mark: that of a class or module is for all its tests that have a server."""
    return any(mark.name == _SERVER for mark in item.own_markers)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Explore the operator of a mark, unless the test does it by its fixture."""
    if pyfuncitem.get_closest_marker("explore") is None or "explore_report" in pyfuncitem.fixturenames:
        return
    from masthead.testing import _explore_plugin

    report = _explore_plugin.explore_marked(pyfuncitem)
    if report.findings:
        pytest.fail(str(report), pytrace=False)


def _call(server: Server, method: str, path: str, body: object = None) -> None:
    """Send a simple request. A DELETE ignores 404 and 409: the test may have deleted the object."""
    # urllib, because a client would cost every test its import and a thread.
    import json
    import urllib.error
    import urllib.request

    request = urllib.request.Request(
        f"{server.url}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"},
    )
    # The server is on this machine: proxies from the environment do not apply.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_TIMEOUT) as response:
            response.read()
    except urllib.error.HTTPError as error:
        with error:
            if method != "DELETE" or error.code not in _DELETED_CODES:
                raise


_DELETED_CODES: Final = frozenset({404, 409})
