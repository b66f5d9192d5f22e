"""Comparable states: what differs between equal runs vanishes, what has a meaning stays."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from masthead.testing._explore.canonical_state import CanonicalState, Meanings, canonicalize, replicas_of, simplify
from masthead.testing._explore.comparison import compare_states, compare_values, format_path
from masthead.testing._explore.names import NamePattern, Names, generated_patterns, learn_patterns
from tests.explore.histories import History

if TYPE_CHECKING:
    from masthead.testing._explore.trace import RunResult

SHOPS = "shops.example.com"


def build(seed: int, suffix: str = "aaaaa", second: str = "00", padding: int = 0, **changes: Any) -> RunResult:
    """Return a run with objects of all sorts; only `changes` has a meaning."""
    history = History(seed=seed)
    for _ in range(padding):
        history.put("configmaps", "default/gone")
        history.delete("configmaps", "default/gone")
    time = f"2026-01-01T00:00:{second}Z"
    shop = history.put(SHOPS, "default/books", by="user", spec={"image": "shop:1"})
    history.put("jobs.batch", f"default/run-{suffix}", generate_name="run-", owner=shop, spec={"image": "job:1"})
    history.put("services", "default/web", spec={"clusterIP": f"10.0.0.{seed % 200}", "ports": [{"port": 80}]})
    status = {
        "job": f"run-{suffix}",
        "message": f"run-{suffix} began at {time} for {shop}",
        "observedGeneration": 2,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}],
        **changes,
    }
    history.put(SHOPS, "default/books", spec={"image": "shop:1"}, status=status)
    return history.result


def state_of(result: RunResult) -> CanonicalState:
    return canonicalize(result.objects, result.changes, Names(generated_patterns(result)), replicas_of(result))


def differences(first: RunResult, second: RunResult) -> list[str]:
    found = compare_states(state_of(first), state_of(second), lambda _item, _difference: True)
    return [str(difference) for changed in found for difference in changed.fields]


@given(
    seed=st.integers(1, 2**31),
    suffix=st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=5, max_size=5),
    second=st.integers(0, 59).map("{:02}".format),
    padding=st.integers(0, 3),
)
def test_uids_names_times_addresses_and_versions_do_not_matter(
    seed: int, suffix: str, second: str, padding: int
) -> None:
    assert differences(build(1), build(seed, suffix, second, padding)) == []


@given(st.dictionaries(st.sampled_from(["phase", "replicas", "hosts"]), st.integers() | st.text(), min_size=1))
def test_any_other_value_matters(changes: dict[str, Any]) -> None:
    expected = {name for name, value in changes.items() if value is not None}
    found = {text.partition(":")[0].removeprefix("status.") for text in differences(build(1), build(2, **changes))}
    assert found == expected


def test_dead_owner_is_another_meaning() -> None:
    history = History()
    owner = history.put(SHOPS, "default/books", by="user")
    history.put("secrets", "default/tls", owner=owner)
    before = copy.deepcopy(history.result)
    history.delete(SHOPS, "default/books", by="user")
    after = history.result
    [changed] = [
        changed
        for changed in compare_states(state_of(before), state_of(after), lambda _item, _difference: True)
        if changed.kind == "changed"
    ]
    assert [str(field) for field in changed.fields] == [
        (
            "metadata.ownerReferences[books].uid: <uid of the deleted shops.example.com default/books> instead of "
            "<uid of shops.example.com default/books>"
        )
    ]


def test_older_observed_generation_is_told_from_the_current_one() -> None:
    assert differences(build(1), build(1, observedGeneration=1)) == [
        "status.observedGeneration: older instead of current"
    ]


def test_objects_of_the_cluster_itself_are_left_out() -> None:
    history = History()
    history.put("configmaps", "default/kube-root-ca.crt", by="")
    history.put("serviceaccounts", "default/default", by="serviceaccounts")
    history.put("leases.coordination.k8s.io", "default/leader")
    history.put("persistentvolumeclaims", "default/data-db-0", by="statefulsets")
    assert [str(item) for item in state_of(history.result)] == ["persistentvolumeclaims default/data-db-0"]


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
trees = st.recursive(
    scalars, lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3)
)


@given(trees)
def test_equal_values_have_no_differences(value: Any) -> None:
    assert list(compare_values(value, copy.deepcopy(value))) == []


@given(st.lists(st.integers(), unique=True), st.randoms(use_true_random=False))
def test_the_order_of_a_list_does_not_matter(values: list[Any], random: Any) -> None:
    mixed = random.sample(values, len(values))
    assert list(compare_values(values, mixed)) == []
    assert list(compare_values(",".join(map(str, values)), ",".join(map(str, mixed)))) == []


@given(trees, trees)
def test_differences_are_symmetric(first: Any, second: Any) -> None:
    forth = {difference.path for difference in compare_values(first, second)}
    assert bool(forth) == any(True for _ in compare_values(second, first))


def test_paths_read_like_fields() -> None:
    assert format_path(("spec", "containers", "[web]", "image")) == "spec.containers[web].image"
    assert format_path(("metadata", "labels", "example.com/a")) == 'metadata.labels["example.com/a"]'


def test_values_of_python_become_plain() -> None:
    class Bucket:
        def __init__(self) -> None:
            self.size = 3

    value = {"names": {"b", "a"}, 1: (Bucket(), b"\x01"), "nothing": None}
    assert simplify(value, Meanings({}, [], Names())) == {"names": ["a", "b"], "1": ["01", {"size": 3}]}


def test_names_with_random_parts_are_learned_by_pairs() -> None:
    learned = learn_patterns(
        {"jobs.batch": ["default/fixed", "default/db-backup-17634"]},
        {"jobs.batch": ["default/fixed", "default/db-backup-17999"]},
        Names(),
    )
    assert learned == {NamePattern("jobs.batch", "default/db\\-backup\\-[a-z0-9]{5}", "default/db-backup-*")}
    names = Names(learned)
    assert names.key_of("jobs.batch", "default/db-backup-17111") == "default/db-backup-*"
    assert names.key_of("jobs.batch", "default/fixed") == "default/fixed"
    assert names.key_of("pods", "default/db-backup-17111") == "default/db-backup-17111"
