"""Extracting the fields of a manager; the managed fields are those of a real server of 1.36.

The vectors are objects of that server, and what client-go's apply configurations extract from them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.model import Struct, field
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._meta.unstructured import Unstructured
from masthead._schema.extraction import extract
from masthead.api.apps.v1 import ControllerRevision, Deployment
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import ArgumentError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable


def managed(manager: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


MINE = {
    "f:metadata": {"f:finalizers": {'v:"example.com/hold"': {}}, "f:labels": {"f:app": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:selector": {},
        "f:template": {
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"web"}': {
                        ".": {},
                        "f:command": {},
                        "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
                        "f:resources": {"f:limits": {"f:cpu": {}}},
                    }
                },
                "f:securityContext": {},
                "f:tolerations": {},
                "f:volumes": {'k:{"name":"tmp"}': {".": {}, "f:emptyDir": {}, "f:name": {}}},
            },
        },
    },
}
THEIRS = {
    "f:metadata": {"f:finalizers": {'v:"example.com/other"': {}}, "f:labels": {"f:tier": {}}},
    "f:spec": {
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"web"}': {
                        ".": {},
                        "f:env": {'k:{"name":"B"}': {".": {}, "f:name": {}, "f:value": {}}},
                        "f:name": {},
                    }
                },
                "f:nodeSelector": {},
                "f:securityContext": {"f:runAsUser": {}},
            }
        }
    },
}
LIVE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "uid": "62c19e47",
        "resourceVersion": "240",
        "generation": 2,
        "labels": {"app": "web", "tier": "front"},
        "finalizers": ["example.com/hold", "example.com/other"],
        "managedFields": [
            managed("me", MINE),
            managed("other", THEIRS),
            managed("me", {"f:spec": {"f:paused": {}}}, operation="Update"),
            managed("me", {"f:status": {"f:replicas": {}}}, subresource="status"),
        ],
    },
    "spec": {
        "paused": False,
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "web",
                        "image": "nginx",
                        "command": ["run", "it"],
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                        "resources": {"limits": {"cpu": "500m"}},
                        "imagePullPolicy": "Always",
                    }
                ],
                "nodeSelector": {"disk": "ssd"},
                "restartPolicy": "Always",
                "securityContext": {"runAsUser": 1000},
                "volumes": [{"name": "tmp", "emptyDir": {}}],
            },
        },
    },
    "status": {"replicas": 1, "readyReplicas": 1},
}
WHAT_I_APPLIED = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "labels": {"app": "web"},
        "finalizers": ["example.com/hold"],
    },
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "web",
                        "image": "nginx",
                        "command": ["run", "it"],
                        "ports": [{"containerPort": 80}],
                        "env": [{"name": "A", "value": "1"}],
                        "resources": {"limits": {"cpu": "500m"}},
                    }
                ],
                "securityContext": {},
                "tolerations": [],
                "volumes": [{"name": "tmp", "emptyDir": {}}],
            },
        },
    },
}
both = pytest.mark.parametrize("cls", [Deployment, Unstructured])


@both
def test_extract_returns_exactly_the_fields_a_manager_applied(cls: type[Object]) -> None:
    mine = extract(cls.from_dict(LIVE), "me")
    assert type(mine) is cls
    assert mine.to_dict() == WHAT_I_APPLIED


@both
def test_managers_that_share_lists_and_maps_get_their_own_items(cls: type[Object]) -> None:
    theirs = extract(cls.from_dict(LIVE), "other").to_dict()
    assert theirs["metadata"]["labels"] == {"tier": "front"}
    assert theirs["metadata"]["finalizers"] == ["example.com/other"]
    assert theirs["spec"] == {
        "template": {
            "spec": {
                "containers": [{"name": "web", "env": [{"name": "B", "value": "2"}]}],
                "nodeSelector": {"disk": "ssd"},
                "securityContext": {"runAsUser": 1000},
            }
        }
    }


@both
def test_a_subresource_is_extracted_by_name(cls: type[Object]) -> None:
    assert extract(cls.from_dict(LIVE), "me", subresource="status").to_dict()["status"] == {"replicas": 1}


@both
def test_a_manager_that_owns_no_fields_gets_only_the_objects_identity(cls: type[Object]) -> None:
    assert extract(cls.from_dict(LIVE), "nobody").to_dict() == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
    }


@both
def test_the_object_itself_is_left_alone_and_the_result_can_be_changed(cls: type[Object]) -> None:
    live = cls.from_dict(LIVE)
    before = live.to_json()
    extract(live, "me").metadata.labels["app"] = "other"
    assert live.to_json() == before


def test_an_atomic_type_is_extracted_whole_even_as_a_list_item() -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "uid": "u-1"}
    entry = managed("me", {"f:metadata": {"f:ownerReferences": {'k:{"uid":"u-1"}': {}}}}, apiVersion="v1")
    other = {**owner, "uid": "u-2"}
    data = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "ownerReferences": [other, owner], "managedFields": [entry]},
    }
    for cls in (Pod, Unstructured):
        assert extract(cls.from_dict(data), "me").to_dict()["metadata"]["ownerReferences"] == [owner]


def test_a_defaulted_key_still_identifies_a_list_item() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:ports": {
        'k:{"containerPort":80,"protocol":"TCP"}': {"f:containerPort": {}},
        'k:{"containerPort":53,"protocol":"UDP"}': {"f:containerPort": {}},
    }}}}}  # fmt: skip
    ports = [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 81}]
    data = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "managedFields": [managed("me", fields, apiVersion="v1")]},
        "spec": {"containers": [{"name": "web", "ports": ports}]},
    }
    for cls in (Pod, Unstructured):
        [container] = extract(cls.from_dict(data), "me").to_dict()["spec"]["containers"]
        assert container == {"name": "web", "ports": ports[:2]}


def test_for_an_untyped_kind_every_owned_field_is_extracted() -> None:
    fields = {"f:spec": {
        "f:size": {}, "f:free": {}, "f:tags": {'v:"a"': {}}, "f:numbers": {"v:1": {}},
        "f:parts": {'k:{"id":1}': {".": {}, "f:id": {}, "f:v": {}}}, "f:gone": {},
    }}  # fmt: skip
    spec = {
        "size": 1,
        "color": "red",
        "free": {"a": {"b": 1}},
        "tags": ["a", "c"],
        "numbers": [1, True, 2],
        "parts": [{"id": True, "v": "no"}, {"id": 1, "v": "x", "w": "z"}],
    }
    data = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "managedFields": [managed("me", fields, apiVersion="example.com/v1")]},
        "spec": spec,
    }
    assert extract(Unstructured.from_dict(data), "me")["spec"] == {
        "size": 1,
        "free": {"a": {"b": 1}},
        "tags": ["a"],
        "numbers": [1],
        "parts": [{"id": 1, "v": "x"}],
    }


def test_the_managed_fields_entry_of_the_objects_version_is_used() -> None:
    old = managed("me", {"f:data": {"f:old": {}}}, apiVersion="v0")
    new = managed("me", {"f:data": {"f:new": {}}}, apiVersion="v1")
    data = {"metadata": {"name": "a", "managedFields": [old, new]}, "data": {"old": "1", "new": "2"}}
    assert extract(ConfigMap.from_dict(data), "me").data == {"new": "2"}


def test_what_the_server_leaves_out_because_it_is_zero_is_still_applied() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:paused": {}, "f:minReadySeconds": {}, "f:replicas": {}, "f:template": {"f:spec": {  # noqa: E501
        "f:hostNetwork": {}, "f:subdomain": {}, "f:tolerations": {}, "f:nodeSelector": {}, "f:affinity": {},
        "f:newField": {},
    }}}}  # fmt: skip
    data = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "managedFields": [managed("me", fields)]},
        "spec": {"replicas": 0, "template": {"spec": {"dnsPolicy": "Default"}}},
    }
    for cls in (Deployment, Unstructured):
        assert extract(cls.from_dict(data), "me").to_dict()["spec"] == {
            "paused": False,
            "minReadySeconds": 0,
            "replicas": 0,
            "template": {
                "spec": {
                    "hostNetwork": False,
                    "subdomain": "",
                    "tolerations": [],
                    "nodeSelector": {},
                    "affinity": {},
                }
            },
        }


def test_fields_that_a_class_does_not_have_are_extracted_as_far_as_they_are_owned() -> None:
    fields = {"f:spec": {"f:newMap": {"f:a": {}}, "f:newList": {'k:{"id":1}': {".": {}, "f:id": {}}}, "f:new": {}}}
    spec = {"newMap": {"a": 1, "b": 2}, "newList": [{"id": 1, "v": 2}, {"id": 2}], "new": {"c": [3]}}
    data = {
        "metadata": {"name": "p", "managedFields": [managed("me", fields, apiVersion="v1")]},
        "spec": spec,
    }

    mine = extract(Pod.from_dict(data), "me").to_dict()

    assert mine["spec"] == {"newMap": {"a": 1}, "newList": [{"id": 1}], "new": {"c": [3]}}


class GadgetSpec(Struct):
    whole: dict[str, str] = {}
    items: list[dict[str, Any]] = []


class Gadget(Object):
    GVK = GroupVersionKind("extraction.example.com", "v1", "Gadget")

    spec: GadgetSpec = field(default_factory=GadgetSpec)


def test_a_class_that_does_not_tell_how_its_fields_merge_is_no_obstacle() -> None:
    fields: dict[str, Any] = {
        "f:metadata": {"f:labels": {}, "f:annotations": {}},
        "f:spec": {"f:whole": {}, "f:items": {'k:{"id":1}': {".": {}, "f:id": {}}}},
    }
    entry = managed("me", fields, apiVersion="extraction.example.com/v1")
    data = {
        "metadata": {"name": "g", "labels": {"theirs": "t"}, "managedFields": [entry]},
        "spec": {"whole": {"a": "1"}, "items": [{"id": 1, "size": 2}, {"id": 2}]},
    }

    mine = extract(Gadget.from_dict(data), "me").to_dict()

    assert mine["spec"] == {"whole": {"a": "1"}, "items": [{"id": 1}]}
    assert mine["metadata"] == {"name": "g", "labels": {}, "annotations": {}}


def test_a_list_that_the_server_has_made_granular_is_extracted_by_its_items() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:tolerations": {'k:{"key":"a"}': {".": {}, "f:key": {}}}}}
    tolerations = [{"key": "b"}, {"key": "a", "effect": "NoSchedule"}]
    data = {
        "metadata": {"name": "p", "managedFields": [managed("me", fields, apiVersion="v1")]},
        "spec": {"tolerations": tolerations},
    }

    assert extract(Pod.from_dict(data), "me").to_dict()["spec"] == {"tolerations": [{"key": "a"}]}


def test_free_form_data_is_extracted_whole() -> None:
    entry = managed("me", {"f:data": {}, "f:revision": {}})
    data = {"metadata": {"name": "r", "managedFields": [entry]}, "data": {"spec": {"a": [1]}}, "revision": 3}

    mine = extract(ControllerRevision.from_dict(data), "me")

    assert mine.to_dict()["data"] == {"spec": {"a": [1]}}


def test_items_that_cannot_be_identified_are_a_decode_error() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:containers": {'k:{"name":"a"}': {}}}}
    entry = managed("me", fields, apiVersion="v1")
    data = {"metadata": {"name": "p", "managedFields": [entry]}, "spec": {"containers": ["b"]}}

    with pytest.raises(DecodeError, match=r'Pod "p": .*non-map elements'):
        extract(Unstructured.from_dict({"apiVersion": "v1", "kind": "Pod", **data}), "me")


@pytest.mark.parametrize("fields", [{"name": {}}, {"f:a": "all of it"}, {"k:{": {}}, {"v:{": {}}, {"i:one": {}}])
def test_managed_fields_that_cannot_be_decoded_are_an_error(fields: dict[str, Any]) -> None:
    data = {"metadata": {"name": "a", "managedFields": [managed("me", fields, apiVersion="v1")]}}

    with pytest.raises(DecodeError, match="not an element of a field set"):
        extract(ConfigMap.from_dict(data), "me")


def test_a_manager_must_be_named() -> None:
    with pytest.raises(ArgumentError, match="field_manager"):
        extract(ConfigMap.new("a"), "")


VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "extraction_vectors.json").read_text(encoding="utf-8")
)


def without_zeros(value: Any) -> Any:
    """What is left when zeros and what is empty are left out, as a server does; client-go does not recover them."""
    if isinstance(value, dict):
        found = {name: without_zeros(each) for name, each in value.items()}
        return {name: each for name, each in found.items() if each not in (0, "", [], {})}
    return [without_zeros(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("is_typed", [True, False], ids=["typed", "dynamic"])
@pytest.mark.parametrize("vector", VECTORS, ids=[each["object"]["kind"] for each in VECTORS])
def test_what_is_extracted_is_what_client_go_extracts(vector: dict[str, Any], *, is_typed: bool) -> None:
    live: Object = Unstructured.from_dict(vector["object"])
    if is_typed:
        live = registry.object_class(live.gvk).from_dict(vector["object"])

    for manager, expected in vector["extracted"].items():
        assert without_zeros(extract(live, manager).to_dict()) == without_zeros(expected)


names = st.text("abc.", min_size=1, max_size=3)
maps = st.recursive(
    st.dictionaries(names, st.integers() | st.text(max_size=3) | st.booleans(), min_size=1, max_size=4),
    lambda inner: st.dictionaries(names, inner | st.integers(), min_size=1, max_size=4),
    max_leaves=12,
)


def split(
    data: dict[str, Any], draw: Callable[[st.SearchStrategy[bool]], bool]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Some of the leaves of nested maps, and the field set that names them."""
    part: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            inner, below = split(value, draw)
            if below:
                part[name], fields[f"f:{name}"] = inner, below
        elif draw(st.booleans()):
            part[name], fields[f"f:{name}"] = value, {}
    return part, fields


@pytest.mark.slow
@given(maps, st.data())
def test_exactly_the_owned_leaves_of_any_object_are_extracted(spec: dict[str, Any], data: st.DataObject) -> None:
    part, fields = split(spec, data.draw)
    entry = managed("me", {"f:spec": fields} if fields else {}, apiVersion="example.com/v1")
    live = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "managedFields": [entry]},
        "spec": spec,
    }
    mine = extract(Unstructured.from_dict(live), "me")
    assert mine.get("spec", default={}) == part
    again = {**mine.to_dict(), "metadata": live["metadata"]}
    assert extract(Unstructured.from_dict(again), "me") == mine
