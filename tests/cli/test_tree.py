"""``masthead tree``: owners and dependents, once and live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cli.terminal import Terminal
from tests.cli.test_processes import CTRL_C, following

from masthead.api.core.v1 import ConfigMap, Namespace
from masthead.meta import OwnerReference, Patch

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Ran

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]


def config_map(name: str, owner: masthead.Object, kind: str) -> ConfigMap:
    made = ConfigMap.new(name)
    reference = OwnerReference(api_version="v1", kind=kind, name=owner.metadata.name, uid=owner.metadata.uid)
    made.metadata.owner_references = [reference]
    return made


@pytest.fixture
def family(client: masthead.Client) -> Iterator[masthead.ResourceClient[ConfigMap]]:
    """A config map that a pod owns, and that owns another one."""
    maps = client.core_v1.config_maps("shop")
    owner = client.core_v1.pods("shop").get("web-1")
    middle = maps.create(config_map("middle", owner, "Pod"))
    maps.create(config_map("leaf", middle, "ConfigMap"))
    yield maps
    for name in ("leaf", "middle", "new"):
        if any(each.metadata.name == name for each in maps.list()):
            maps.delete(name)


@pytest.mark.usefixtures("family")
def test_owners_and_dependents_are_shown_with_their_states(cli: Cli) -> None:
    ran = cli("tree pod web-1 -n shop")

    assert ran.code == 0
    assert ran.out.splitlines()[0].split() == ["NAME", "READY", "STATUS", "AGE"]
    assert ran.out.splitlines()[1].split()[:3] == ["Pod/web-1", "0/1", "Pending"]
    assert [line.strip(" └─").split()[0] for line in ran.out.splitlines()[1:]] == [
        "Pod/web-1",
        "ConfigMap/middle",
        "ConfigMap/leaf",
    ]
    leaf = cli("tree cm/leaf -n shop").out
    assert leaf.count("ConfigMap/") == 2
    assert "Pod/web-1" in leaf


@pytest.mark.usefixtures("family")
def test_a_tree_is_cut_where_one_says(cli: Cli) -> None:
    assert "... and 2 more" in cli("tree pod web-1 -n shop --limit 1").out.splitlines()[-1]


def test_dependents_in_several_namespaces_are_told_apart(cli: Cli, client: masthead.Client) -> None:
    team = client.core_v1.namespaces().create(Namespace.new("team"))
    for place in ("dev", "prod"):
        client.core_v1.namespaces().create(Namespace.new(place))
        owned = client.core_v1.config_maps(place).create(config_map("admin", team, "Namespace"))
        client.core_v1.config_maps(place).create(config_map("leaf", owned, "ConfigMap"))

    assert [line.strip(" ├│└─").split()[0] for line in cli("tree ns team").out.splitlines()[1:]] == [
        "Namespace/team",
        "ConfigMap/dev/admin",
        "ConfigMap/dev/leaf",
        "ConfigMap/prod/admin",
        "ConfigMap/prod/leaf",
    ]
    assert "ConfigMap/leaf" in cli("tree cm admin -n dev").out


@pytest.mark.usefixtures("family")
def test_what_may_not_be_listed_is_named(cli: Cli, server: Server) -> None:
    server.faults.fail(403, verb="list", resource="secrets", times=None)
    ran = cli("tree pod web-1 -n shop")

    assert ran.code == 0
    assert ran.err.startswith("secrets could not be searched: ")
    assert "ConfigMap/leaf" in ran.out


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("tree pod web1 -n shop", 4, "did you mean web-"),
        ("tree podz web-1", 4, "did you mean pods?"),
        ("tree pods", 2, "name one object"),
        ("tree pods web-1 web-2 -n shop", 2, "name one object"),
    ],
)
def test_one_object_has_to_be_named(line: str, code: int, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == code
    assert said in ran.err


@pytest.mark.slow
def test_a_live_tree_follows_changes_and_lost_connections(
    environ: dict[str, str], family: masthead.ResourceClient[ConfigMap], server: Server
) -> None:
    server.faults.drop_watch(after=8, resource="configmaps")
    with Terminal(["tree", "pod/web-1", "-n", "shop", "-w"], environ) as screen:
        screen.expect("watching the tree (3 objects, 0 changes")
        family.create(config_map("new", family.get("leaf"), "ConfigMap"))
        screen.expect("ConfigMap/new")
        server.faults.fail(503, verb="watch", resource="configmaps", times=None)
        server.faults.fail(503, verb="list", resource="configmaps", times=None)
        for size in range(6):  # one of which is one too many for the watch
            family.patch("new", Patch.merge({"data": {"size": str(size)}}))
        screen.expect("reconnecting (4 objects")
        server.faults.clear()
        screen.forget()
        screen.expect("watching the tree (4 objects")
        family.delete("new")
        screen.expect("watching the tree (3 objects")
        screen.press(CTRL_C)
        assert screen.finish() == 130
        assert screen.is_as_before
        assert "Traceback" not in screen.output


@pytest.mark.slow
def test_without_a_terminal_a_tree_is_printed_again_when_it_changes(
    environ: dict[str, str], family: masthead.ResourceClient[ConfigMap]
) -> None:
    with following(environ, "tree", "pod/web-1", "-n", "shop", "-w") as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(4)][3].strip().startswith("└─ ConfigMap/leaf")
        family.patch("leaf", Patch.merge({"data": {"a": "b"}}))
        assert process.stdout.readline() == "\n"
        assert process.stdout.readline().startswith("NAME")


def read_until(process: subprocess.Popen[str], *wanted: str) -> str:
    """Read lines until one has some texts; returns it."""
    assert process.stdout is not None
    return next(line for line in process.stdout if all(each in line for each in wanted))


@pytest.mark.slow
def test_an_object_that_is_created_again_has_its_tree_again(environ: dict[str, str], client: masthead.Client) -> None:
    maps = client.core_v1.config_maps("shop")
    owner = maps.create(ConfigMap.new("owner"))
    maps.create(config_map("again", owner, "ConfigMap"))
    with following(environ, "tree", "cm/again", "-n", "shop", "-w") as process:
        assert not read_until(process, "ConfigMap/owner").startswith(" ")
        read_until(process, "ConfigMap/again")
        maps.delete("again")
        read_until(process, "ConfigMap/again", "gone")
        other = maps.create(ConfigMap.new("other"))  # has no owner, and was not in the tree before
        root = maps.create(config_map("again", other, "ConfigMap"))
        maps.create(config_map("below", root, "ConfigMap"))
        while "gone" in read_until(process, "ConfigMap/other"):
            pass  # printed before it was asked for
        assert "gone" not in read_until(process, "ConfigMap/again")
        assert read_until(process, "ConfigMap/below").startswith("   └─ ")
        for name in ("owner", "other"):
            maps.delete(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("root", "after"),
    [("replaced", "2 objects"), ("top", "1 object,")],  # the new one does not depend on it
)
def test_an_object_that_was_replaced_while_nobody_watched_is_the_new_one(
    root: str, after: str, environ: dict[str, str], client: masthead.Client, server: Server
) -> None:
    maps = client.core_v1.config_maps("shop")
    top = maps.create(ConfigMap.new("top"))
    maps.create(config_map("replaced", top, "ConfigMap"))
    server.faults.drop_watch(after=8, resource="configmaps")
    with Terminal(["tree", f"cm/{root}", "-n", "shop", "-w"], environ) as screen:
        screen.expect("watching the tree (2 objects, 0 changes")
        maps.patch("replaced", Patch.merge({"data": {"is_watched": "yes"}}))
        screen.expect("watching the tree (2 objects, 1 change,")
        failures = [server.faults.fail(503, verb=verb, resource="configmaps", times=None) for verb in ("list", "watch")]
        for size in range(10):  # one of which is one too many for the watch
            maps.patch("replaced", Patch.merge({"data": {"size": str(size)}}))
        screen.expect("reconnecting (2 objects")
        maps.delete("replaced")
        made = maps.create(ConfigMap.new("replaced"))
        maps.create(config_map("below", made, "ConfigMap"))
        server.faults.expire_watch(resource="configmaps")  # so that it is listed again
        for failure in failures:
            failure.remove()
        if root == "replaced":
            screen.expect("ConfigMap/below")
        screen.forget()
        screen.expect(f"watching the tree ({after}")
        assert "gone" not in screen.output
    for name in ("below", "replaced", "top"):
        maps.delete(name)
