"""Strategic merge patches, applied."""

from __future__ import annotations

import time
from typing import Any

import pytest

from masthead._schema.merge_definitions import merge_rules_of
from masthead._schema.merge_errors import StrategicMergeError
from masthead._schema.strategic_merge import apply_strategic_merge
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Pod, Service

Plain = dict[str, Any]


def pod(*containers: Plain, **spec: Any) -> Plain:
    return {"spec": {"containers": list(containers), **spec}}


def named(*names: str) -> list[Plain]:
    return [{"name": name} for name in names]


def patched(document: Plain, patch: Plain) -> Plain:
    return apply_strategic_merge(document, patch, merge_rules_of(Pod))


def names_of(document: Plain, field: str = "containers") -> list[str]:
    return [each["name"] for each in document["spec"][field]]


def failure(document: Plain, patch: Plain) -> tuple[str, int]:
    with pytest.raises(StrategicMergeError) as caught:
        patched(document, patch)
    return str(caught.value), caught.value.code


def test_objects_are_merged_and_null_removes_a_field() -> None:
    document = {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"nodeName": "n"}}

    assert patched(document, {"metadata": {"labels": {"a": None, "c": "3"}}}) == {
        "metadata": {"labels": {"b": "2", "c": "3"}},
        "spec": {"nodeName": "n"},
    }


def test_lists_with_a_merge_key_are_merged_by_it() -> None:
    document = pod({"name": "a", "image": "1", "tty": True}, {"name": "b", "image": "2"})

    result = patched(document, pod({"name": "a", "image": "3"}))

    assert result == pod({"name": "a", "image": "3", "tty": True}, {"name": "b", "image": "2"})


def test_new_items_stand_before_those_that_only_the_server_has() -> None:
    assert names_of(patched(pod(*named("a", "b")), pod(*named("c")))) == ["c", "a", "b"]
    assert names_of(patched(pod(*named("a", "b", "c")), pod(*named("d", "b")))) == ["d", "a", "b", "c"]


def test_lists_without_a_strategy_are_replaced() -> None:
    document = {"spec": {"containers": [{"name": "a", "args": ["x", "y"]}]}}

    result = patched(document, pod({"name": "a", "args": ["z"]}))

    assert result["spec"]["containers"][0]["args"] == ["z"]


def test_scalars_with_a_merge_strategy_are_united() -> None:
    document = {"metadata": {"finalizers": ["a", "b"]}}

    assert patched(document, {"metadata": {"finalizers": ["c", "b"]}}) == {"metadata": {"finalizers": ["c", "a", "b"]}}


def test_nulls_of_new_objects_are_dropped_and_those_of_new_items_kept() -> None:
    assert patched({}, {"spec": {"nodeName": None, "volumes": [{"name": "a", "emptyDir": None}]}}) == {
        "spec": {"volumes": [{"name": "a"}]}
    }
    document = pod(*named("a"))
    assert patched(document, pod({"name": "b", "image": None})) == pod({"name": "b", "image": None}, {"name": "a"})


def test_the_directive_replace_replaces_an_object_or_a_list() -> None:
    document = {"metadata": {"labels": {"a": "1"}}, **pod(*named("a", "b"))}

    assert patched(document, {"metadata": {"labels": {"$patch": "replace", "b": "2"}}})["metadata"] == {
        "labels": {"b": "2"}
    }
    assert names_of(patched(document, pod({"$patch": "replace"}, {"name": "c"}))) == ["c"]


def test_the_directive_delete_empties_an_object_or_removes_an_item() -> None:
    document = {"metadata": {"labels": {"a": "1"}}, **pod(*named("a", "b"))}

    assert patched(document, {"metadata": {"labels": {"$patch": "delete"}}})["metadata"] == {"labels": {}}
    assert names_of(patched(document, pod({"$patch": "delete", "name": "a"}))) == ["b"]


def test_a_directive_for_something_new_is_dropped() -> None:
    assert patched({}, {"metadata": {"$patch": "delete"}}) == {}
    assert patched({}, pod({"name": "a", "$patch": "delete"}, {"name": "b"})) == pod({"name": "b"})


def test_scalars_are_deleted_from_a_list() -> None:
    document = {"metadata": {"finalizers": ["a", "b", "c"]}}

    result = patched(document, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "d"]}})

    assert result == {"metadata": {"finalizers": ["a", "c"]}}


def test_an_order_moves_items() -> None:
    order = {"spec": {"$setElementOrder/containers": named("c", "a")}}

    assert names_of(patched(pod(*named("a", "b", "c")), order)) == ["b", "c", "a"]


def test_an_order_places_new_items() -> None:
    patch = {"spec": {"$setElementOrder/containers": named("a", "d", "b"), "containers": named("d")}}

    assert names_of(patched(pod(*named("a", "b", "c")), patch)) == ["a", "d", "b", "c"]


def test_a_new_item_takes_the_place_of_a_deleted_one() -> None:
    deleted = {"name": "a", "$patch": "delete"}
    patch = {"spec": {"$setElementOrder/containers": named("d"), "containers": [{"name": "d"}, deleted]}}

    assert names_of(patched(pod(*named("a", "b", "c")), patch)) == ["b", "c", "d"]


def test_retained_keys_are_the_only_ones_left() -> None:
    rules = merge_rules_of(Deployment)
    document = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}

    assert apply_strategic_merge(document, patch, rules) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_merge_keys_may_be_numbers() -> None:
    rules = merge_rules_of(Service)
    document = {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}}
    patch = {"spec": {"ports": [{"port": 81, "name": "c"}, {"port": 80.0, "name": "d"}]}}

    assert apply_strategic_merge(document, patch, rules)["spec"]["ports"] == [
        {"port": 80, "name": "a"},
        {"port": 81, "name": "c"},
        {"port": 80.0, "name": "d"},
    ]


@pytest.mark.parametrize(
    ("patch", "message", "code"),
    [
        (pod({"image": "x"}), "map: map[image:x] does not contain declared merge key: name", 500),
        (pod({"$patch": "delete"}), "map: map[$patch:delete] does not contain declared merge key: name", 500),
        (
            pod({"name": "a", "$patch": "merge"}),
            "merging lists cannot yet be specified in the patch",
            500,
        ),
        ({"spec": {"$patch": "x"}}, "unknown patch type: x in map: map[$patch:x]", 500),
        ({"spec": {"$patch": 1}}, "unknown patch type: %!s(int64=1) in map: map[$patch:1]", 500),
        (
            pod({"name": "a"}, "x"),  # type: ignore[arg-type]
            "list element types are not identical: [[map[name:a]] [map[name:a] x]]",
            500,
        ),
        ({"spec": {"$setElementOrder": []}}, "invalid patch format of setElementOrder list", 400),
        (
            {"spec": {"$setElementOrder/containers": 1}},
            "expected a []interface {}, but received a int64",
            500,
        ),
        ({"spec": {"$setElementOrder/containers": [1]}}, "value for key 0 is not a map", 500),
        (
            {"spec": {"$setElementOrder/containers": [{}]}},
            "map: map[] does not contain declared merge key: name",
            500,
        ),
        (
            {"spec": {"$setElementOrder/containers": named("a"), "containers": named("b")}},
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
            500,
        ),
        (
            {"spec": {"$setElementOrder/x": []}},
            'unable to find api field in struct PodSpec for the json field "x"',
            500,
        ),
        ({"spec": {"$setElementOrder/nodeName": []}}, "expected slice or array type, but got: struct", 500),
        ({"spec": {"$deleteFromPrimitiveList": []}}, "invalid patch format of primitive list", 400),
        ({"spec": {"$retainKeys": "x"}}, "invalid patch format of retainKeys", 400),
        ({"spec": {"$retainKeys": [], "nodeName": "x"}}, "invalid patch format of retainKeys", 400),
        (
            {"metadata": {"labels": {"$setElementOrder/x": []}}},
            "merging an object in json but data type is not struct, instead is: map",
            500,
        ),
        (
            {"spec": {"$deleteFromPrimitiveList/tolerations": [{"key": "x"}]}},
            "cannot merge lists without merge key for struct",
            500,
        ),
    ],
)
def test_a_patch_that_does_not_apply_is_refused_in_the_words_of_the_server(
    patch: Plain, message: str, code: int
) -> None:
    document = {
        "metadata": {"labels": {"a": "1"}},
        "spec": {"containers": named("a"), "tolerations": [{"key": "a"}]},
    }

    assert failure(document, patch) == (message, code)


def test_items_that_cannot_be_compared_are_refused() -> None:
    message, code = failure(pod(*named("a")), pod({"name": {}}))

    assert "unhashable" in message
    assert code == 500


@pytest.mark.slow
def test_long_lists_are_merged_in_time_in_proportion_to_their_length() -> None:
    many = 50_000
    document = {"data": {}, **pod(*named(*map(str, range(many))))}
    deleted = [{"name": str(each), "$patch": "delete"} for each in range(0, many, 2)]
    added = named(*(f"n{each}" for each in range(many)))
    patch = {"spec": {"$setElementOrder/containers": added, "containers": [*added, *deleted]}}
    began = time.process_time()

    result = patched(document, patch)

    assert len(result["spec"]["containers"]) == many + many // 2
    # With quadratic time, this takes minutes.
    assert time.process_time() - began < 10


def test_a_kind_without_lists_has_rules_as_well() -> None:
    assert apply_strategic_merge({"data": {"a": "1"}}, {"data": {"b": "2"}}, merge_rules_of(ConfigMap)) == {
        "data": {"a": "1", "b": "2"}
    }
