"""The tables of ``top``, and the reasons for a lack of metrics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from masthead._cli.resource_metrics import lack_of_metrics
from masthead._cli.usage_tables import NodeUsage, PodUsage, UsageOptions, node_table, pod_table
from masthead.errors import QuantityError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(name: str, namespace: str = "shop", **amounts: str) -> PodUsage:
    return PodUsage.of(
        {"metadata": {"name": name, "namespace": namespace}, "containers": [{"name": "main", "usage": amounts}]}
    )


def node(name: str, *, swap: int | None = None, **used: str) -> NodeUsage:
    info = {"swap": {"capacity": swap}} if swap is not None else {}
    status = {
        "allocatable": {"cpu": "3", "memory": "1Gi"},
        "capacity": {"cpu": "6", "memory": "2Gi"},
        "nodeInfo": info,
    }
    metrics = {"usage": used} if used else None
    return NodeUsage.of({"metadata": {"name": name}, "status": status}, metrics, of_capacity=False)


def names(table: str) -> list[str]:
    return [line.split()[0] for line in table.splitlines()[1:]]


def plain_pods(pods: list[PodUsage], options: UsageOptions) -> str:
    return pod_table(pods, options, containers=False, namespaces=False, total=False)


def test_cores_are_rounded_up_and_memory_is_rounded_down() -> None:
    assert plain_pods([pod("web", cpu="1500u", memory="1900Ki")], UsageOptions(headers=False)).split() == [
        "web",
        "2m",
        "1Mi",
    ]


def test_rows_are_sorted_by_name_or_by_usage() -> None:
    pods = [pod("b", cpu="1", memory="1Mi"), pod("c", cpu="2"), pod("a", memory="9Mi")]

    assert names(plain_pods(pods, UsageOptions())) == ["a", "b", "c"]
    assert names(plain_pods(pods, UsageOptions(sort_by="cpu"))) == ["c", "b", "a"]
    assert names(plain_pods(pods, UsageOptions(sort_by="memory"))) == ["a", "b", "c"]
    # Equal amounts are in the order of the names.
    assert names(plain_pods([pod("b"), pod("a")], UsageOptions(sort_by="cpu"))) == ["a", "b"]


def test_a_missing_amount_is_zero() -> None:
    assert plain_pods([pod("web")], UsageOptions(headers=False)).split() == ["web", "0m", "0Mi"]


def test_each_resource_has_its_sum() -> None:
    options = UsageOptions(("cpu", "memory", "swap"), headers=False)
    table = pod_table([pod("a", swap="3Mi")], options, containers=True, namespaces=True, total=True)

    assert [line.split() for line in table.splitlines()] == [
        ["shop", "a", "main", "0m", "0Mi", "3Mi"],
        ["________", "________", "________"],
        ["0m", "0Mi", "3Mi"],
    ]


def test_percentages_are_those_of_what_a_node_has() -> None:
    (row,) = node_table([node("one", cpu="1", memory="512Mi")], UsageOptions(headers=False)).splitlines()

    assert row.split() == ["one", "1000m", "33%", "512Mi", "50%"]


def test_a_node_without_metrics_is_the_last() -> None:
    table = node_table([node("a"), node("b", cpu="1")], UsageOptions(headers=False))

    assert [line.split() for line in table.splitlines()] == [
        ["b", "1000m", "33%", "0Mi", "0%"],
        ["a", *4 * ["<unknown>"]],
    ]


def test_swap_is_unknown_where_a_node_does_not_report_it() -> None:
    options = UsageOptions(("swap",), headers=False)

    assert node_table([node("a", cpu="1")], options).split() == ["a", "<unknown>", "<unknown>"]
    assert node_table([node("a", swap=4 * 1024**2, swap_used="1")], options).split() == ["a", "0Mi", "0%"]
    # A node without swap has a capacity of 0.
    assert node_table([node("a", swap=0, cpu="1")], options).split() == ["a", "0Mi", "0%"]


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in plain_pods([pod("web\x1b[31m")], UsageOptions())


def test_an_invalid_amount_is_an_error() -> None:
    with pytest.raises(QuantityError):
        pod("web", cpu="lots")


def test_only_new_pods_are_expected_to_get_metrics() -> None:
    assert lack_of_metrics("pod shop/web", NOW - timedelta(seconds=90), NOW).line == "metrics not available yet"
    assert lack_of_metrics("pod shop/web", NOW - timedelta(minutes=5), NOW).line == (
        "Metrics not available for pod shop/web, age: 5m"
    )
    assert lack_of_metrics("pod shop/web", None, NOW).line == "metrics not available yet"
