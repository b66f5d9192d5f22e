"""What an apply of manifests would change, before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment, named, service
from tests.conformance.objects import namespace as a_namespace

from masthead.errors import ManifestError, NotFoundError, UnprocessableError

if TYPE_CHECKING:
    from masthead.manifests import DiffResult


def outcomes(diff: DiffResult) -> list[tuple[str, str]]:
    return [((each.after or each.before).kind, each.outcome) for each in diff]  # type: ignore[union-attr]


def changed_lines(text: str) -> list[str]:
    """The added and removed lines, without the headers."""
    return [line for line in text.splitlines() if line[:1] in "+-" and line[:3] not in {"+++", "---"}]


async def test_a_diff_of_new_objects_creates_nothing(client: Any, namespace: str) -> None:
    manifests = [deployment("web"), config_map("a", data={"color": "red"})]

    diff = await client.diff_manifests(manifests, namespace=namespace, field_manager="us")

    assert outcomes(diff) == [("ConfigMap", "created"), ("Deployment", "created")]
    assert diff.has_changes
    assert diff[0].before is None
    assert f"+++ MERGED/v1.ConfigMap.{namespace}.a\n" in diff.text
    assert "+  color: red\n" in diff.text
    with pytest.raises(NotFoundError):
        await client.core_v1.config_maps(namespace).get("a")


async def test_a_diff_shows_what_would_change_and_nothing_else(client: Any, namespace: str) -> None:
    manifests = [deployment("web", replicas=1), config_map("a", data={"color": "red", "size": "1"})]
    await client.apply_manifests(manifests, namespace=namespace, field_manager="us")

    assert not (await client.diff_manifests(manifests, namespace=namespace, field_manager="us")).has_changes

    manifests[1]["data"] = {"color": "blue"}
    diff = await client.diff_manifests(manifests, namespace=namespace, field_manager="us")

    assert outcomes(diff) == [("ConfigMap", "changed"), ("Deployment", "unchanged")]
    assert changed_lines(diff.text) == ["-  color: red", "-  size: '1'", "+  color: blue"]
    assert diff[0].before["data"]["color"] == "red"
    assert diff[0].after["data"] == {"color": "blue"}
    assert "managedFields" not in diff.text
    assert "managedFields" in diff[0].format(color=False, show_managed_fields=True, context=50)


async def test_a_diff_masks_the_values_of_secrets(client: Any, namespace: str) -> None:
    secret = named("v1", "Secret", "s", stringData={"same": "one", "other": "two"})
    await client.apply_manifests(secret, namespace=namespace, field_manager="us")
    secret["stringData"] = {"same": "one", "other": "three", "new": "four"}

    diff = await client.diff_manifests(secret, namespace=namespace, field_manager="us")

    assert changed_lines(diff.text) == [
        "-  other: '*** (before)'",
        "+  new: '***'",
        "+  other: '*** (after)'",
    ]
    assert "+  new: Zm91cg==\n" in diff.format(color=False, show_secrets=True)
    assert "Zm91cg" not in repr(diff)


async def test_a_diff_with_conflicts_has_them_and_shows_what_force_would_do(client: Any, namespace: str) -> None:
    before = config_map("a", data={"color": "red"})
    await client.apply_manifests(before, namespace=namespace, field_manager="them")
    wanted = config_map("a", data={"color": "blue"})

    diff = await client.diff_manifests(wanted, namespace=namespace, field_manager="us")

    assert [(conflict.field, conflict.manager) for conflict in diff[0].conflict.conflicts] == [(".data.color", "them")]
    assert diff.has_changes
    text = diff.text
    assert text.startswith(f"# ConfigMap {namespace}/a conflicts")
    assert changed_lines(text) == ["-  color: red", "+  color: blue"]
    forced = await client.diff_manifests(wanted, namespace=namespace, field_manager="us", force=True)
    assert forced[0].conflict is None


async def test_a_diff_of_client_side_apply(client: Any, namespace: str) -> None:
    manifests = [config_map("a", data={"color": "red"}), service("web")]
    new = await client.diff_manifests(manifests, namespace=namespace, client_side=True)
    assert outcomes(new) == [("ConfigMap", "created"), ("Service", "created")]
    await client.apply_manifests(manifests, namespace=namespace, client_side=True)
    manifests[0]["data"] = {"color": "blue"}

    diff = await client.diff_manifests(manifests, namespace=namespace, client_side=True)

    assert outcomes(diff) == [("ConfigMap", "changed"), ("Service", "unchanged")]
    assert "-  color: red" in changed_lines(diff.text)
    assert (await client.core_v1.config_maps(namespace).get("a")).data == {"color": "red"}


async def test_objects_of_a_new_namespace_would_be_created(client: Any, namespace: str) -> None:
    name = f"new-{namespace[-20:]}"

    diff = await client.diff_manifests([config_map("a", namespace=name), a_namespace(name)], field_manager="us")

    assert outcomes(diff) == [("Namespace", "created"), ("ConfigMap", "created")]


async def test_a_diff_lists_every_manifest_that_the_server_refuses(client: Any, namespace: str) -> None:
    wrong = [service(name, spec={"ports": [{"port": 0}]}) for name in ("one", "two")]

    with pytest.raises(ManifestError) as raised:
        await client.diff_manifests([*wrong, config_map("fine")], namespace=namespace, field_manager="us")

    assert len(raised.value.problems) == 2
    assert isinstance(raised.value.__cause__, UnprocessableError)
