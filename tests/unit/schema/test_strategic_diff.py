"""Strategic merge patches, computed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.schema.object_strategies import objects

from masthead._schema.merge_definitions import merge_rules_of
from masthead._schema.merge_errors import MergeConflictError, StrategicMergeError
from masthead._schema.strategic_diff import three_way_patch, two_way_patch
from masthead._schema.strategic_merge import apply_strategic_merge
from masthead._schema.three_way_merge import three_way_merge_patch
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Pod, Service, ServiceAccount

if TYPE_CHECKING:
    from masthead._meta.object import Object

Plain = dict[str, Any]
KINDS: list[tuple[type[Object], tuple[str, ...]]] = [
    (Pod, ("metadata", "spec", "status")),
    (Deployment, ("metadata", "spec", "status")),
    (Service, ("metadata", "spec")),
    (ServiceAccount, ("metadata", "secrets", "imagePullSecrets")),
]
PAIRS = st.sampled_from(KINDS).flatmap(
    lambda kind: st.tuples(st.just(kind[0]), objects(kind[0], *kind[1]), objects(kind[0], *kind[1]))
)
SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
POD_RULES = merge_rules_of(Pod)


def applied(document: Plain, patch: Plain, cls: type[Object] = Pod) -> Plain:
    return apply_strategic_merge(copy.deepcopy(document), copy.deepcopy(patch), merge_rules_of(cls))


@pytest.mark.slow
@SLOW
@given(PAIRS)
def test_a_two_way_patch_makes_one_object_of_the_other(pair: tuple[type[Object], Plain, Plain]) -> None:
    cls, old, new = pair
    before = copy.deepcopy(pair)

    assert applied(old, two_way_patch(old, new, merge_rules_of(cls)), cls) == new
    assert pair == before


@pytest.mark.slow
@SLOW
@given(PAIRS)
def test_a_three_way_patch_without_changes_by_others_does_the_same(
    pair: tuple[type[Object], Plain, Plain],
) -> None:
    cls, old, new = pair

    assert applied(old, three_way_patch(old, new, old, merge_rules_of(cls)), cls) == new


@pytest.mark.slow
@SLOW
@given(PAIRS)
def test_what_was_applied_is_not_applied_again(pair: tuple[type[Object], Plain, Plain]) -> None:
    cls, _, new = pair
    patch = three_way_patch(new, new, new, merge_rules_of(cls))

    assert applied(new, patch, cls) == new


@pytest.mark.slow
@SLOW
@given(PAIRS)
def test_a_three_way_patch_keeps_fields_that_were_never_applied(
    pair: tuple[type[Object], Plain, Plain],
) -> None:
    cls, old, new = pair
    for each in (old, new):
        each.setdefault("metadata", {}).pop("annotations", None)
    current = copy.deepcopy(old)
    current["metadata"]["annotations"] = {"of": "others"}

    result = applied(current, three_way_patch(old, new, current, merge_rules_of(cls)), cls)

    assert result["metadata"].pop("annotations") == {"of": "others"}
    assert result == new


def test_a_three_way_patch_keeps_what_others_have_set() -> None:
    original = {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}}
    modified = {"spec": {"containers": [{"name": "a", "image": "2"}]}}
    current = {
        "metadata": {"labels": {"by": "others"}},
        "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "1"}, {"name": "b"}, {"name": "c"}]},
    }

    patch = three_way_patch(original, modified, current, POD_RULES)

    assert patch == {
        "spec": {
            "$setElementOrder/containers": [{"name": "a"}],
            "containers": [{"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}],
        }
    }
    assert applied(current, patch) == {
        "metadata": {"labels": {"by": "others"}},
        "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "2"}, {"name": "c"}]},
    }


def test_what_others_have_changed_is_overwritten_or_a_conflict() -> None:
    original, modified, current = ({"spec": {"nodeName": each}} for each in "abc")

    assert three_way_patch(original, modified, current, POD_RULES) == {"spec": {"nodeName": "b"}}
    with pytest.raises(MergeConflictError, match=r"(?s)conflicts with changes made .* nodeName: c"):
        three_way_patch(original, modified, current, POD_RULES, overwrite=False)


def test_keys_are_retained_where_the_type_says_so() -> None:
    old = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    new = {"spec": {"strategy": {"type": "Recreate"}}}

    assert two_way_patch(old, new, merge_rules_of(Deployment)) == {
        "spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": None}}
    }


def test_scalars_are_added_and_deleted() -> None:
    old = {"metadata": {"finalizers": ["a", "b"]}}
    new = {"metadata": {"finalizers": ["c", "b"]}}

    assert two_way_patch(old, new, POD_RULES) == {
        "metadata": {
            "finalizers": ["c"],
            "$deleteFromPrimitiveList/finalizers": ["a"],
            "$setElementOrder/finalizers": ["c", "b"],
        }
    }


def test_an_item_without_its_merge_key_is_refused() -> None:
    old, new = {"spec": {"containers": [{"name": "a"}]}}, {"spec": {"containers": [{"image": "i"}]}}

    with pytest.raises(StrategicMergeError, match="does not contain declared merge key: name"):
        two_way_patch(old, new, POD_RULES)


def test_a_three_way_merge_patch_replaces_lists_and_deletes_what_was_applied() -> None:
    original = {"spec": {"a": 1, "b": 1, "list": [1]}}
    modified = {"spec": {"a": 2, "list": [2]}}
    current = {"spec": {"a": 1, "b": 1, "c": 3, "list": [1]}, "status": {}}

    assert three_way_merge_patch(original, modified, current) == {"spec": {"a": 2, "b": None, "list": [2]}}


def test_a_three_way_merge_patch_is_of_the_same_object() -> None:
    with pytest.raises(StrategicMergeError, match="At least one of apiVersion, kind and name was changed"):
        three_way_merge_patch({}, {"metadata": {"name": "b"}}, {"metadata": {"name": "a"}})
