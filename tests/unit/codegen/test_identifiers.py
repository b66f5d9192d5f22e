"""What things are called in Python."""

from __future__ import annotations

import keyword

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._codegen import identifiers
from masthead._meta.model import Struct
from masthead._meta.object import Object

ATTRIBUTES = {
    "nodeName": "node_name",
    "clusterIPs": "cluster_ips",
    "clusterIP": "cluster_ip",
    "hostIPC": "host_ipc",
    "hostPID": "host_pid",
    "podCIDRs": "pod_cidrs",
    "podIPs": "pod_ips",
    "nonResourceURLs": "non_resource_urls",
    "setHostnameAsFQDN": "set_hostname_as_fqdn",
    "openAPIV3Schema": "open_api_v3_schema",
    "fieldsV1": "fields_v1",
    "downwardAPI": "downward_api",
    "insecureSkipTLSVerify": "insecure_skip_tls_verify",
    "targetCPUUtilizationPercentage": "target_cpu_utilization_percentage",
    "targetWWNs": "target_wwns",
    "stubPKCS10Request": "stub_pkcs10_request",
    "scaleIO": "scale_io",
    "fsGroup": "fs_group",
    "iscsi": "iscsi",
    "ipFamilies": "ip_families",
    "Port": "port",
    "x-kubernetes-list-map-keys": "x_kubernetes_list_map_keys",
    "x-kubernetes-int-or-string": "x_kubernetes_int_or_string",
    "$ref": "ref",
    "$schema": "schema",
    "continue": "continue_",
    "from": "from_",
    "not": "not_",
    "except": "except_",
    "bool": "bool_",
    "int": "int_",
    "field": "field_",
    "copy": "copy_",
    "to_json": "to_json_",
    "toJson": "to_json_",
    "self": "self_",
    "key": "key",
    "type": "type",
    "items": "items",
    "123abc": "field_123abc",
    "": "field_",
    "名前": "field_",
    "größe": "gr_e",
    "spec-size": "spec_size",
    "__init__": "init",
}
CLASSES = {
    "Pod": "Pod",
    "cron-tab": "CronTab",
    "cronTab": "CronTab",
    "x.y_z": "XYZ",
    "2fast": "Type2fast",
    "None": "None_",
    "": "Unnamed",
}
MODULES = {
    "": "core",
    "apps": "apps",
    "stable.example.com": "stable_example_com",
    "v1alpha1": "v1alpha1",
    "4th.example.com": "v4th_example_com",
    "import": "import_",
}


@pytest.mark.parametrize(("wire", "attribute"), ATTRIBUTES.items())
def test_an_attribute_is_the_fields_name_in_words(wire: str, attribute: str) -> None:
    assert identifiers.attribute_name(wire) == attribute


@pytest.mark.parametrize(("text", "name"), CLASSES.items())
def test_a_class_name_starts_with_a_capital(text: str, name: str) -> None:
    assert identifiers.class_name(text) == name


@pytest.mark.parametrize(("text", "name"), MODULES.items())
def test_a_module_is_called_as_its_group_or_version(text: str, name: str) -> None:
    assert identifiers.module_name(text) == name


@given(st.text())
def test_any_text_gives_names_that_python_takes(text: str) -> None:
    for name in (
        identifiers.attribute_name(text),
        identifiers.class_name(text),
        identifiers.module_name(text),
    ):
        assert name.isidentifier()
        assert not keyword.iskeyword(name)


@given(st.text())
def test_no_attribute_hides_what_every_type_has(text: str) -> None:
    assert not hasattr(Struct, identifiers.attribute_name(text))
    assert not hasattr(Object, identifiers.attribute_name(text, identifiers.RESERVED_IN_KINDS))


@given(st.lists(st.sampled_from(["fooBar", "foo_bar", "FooBar", "foo-bar", "class", "class_", "Class"])))
def test_attributes_of_one_class_differ(wires: list[str]) -> None:
    taken = set(identifiers.RESERVED)
    for wire in wires:
        attribute = identifiers.attribute_name(wire, taken)
        assert attribute not in taken
        taken.add(attribute)


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,12}([-_.][A-Za-z0-9]{0,6}){0,2}", fullmatch=True))
def test_camel_is_what_msgspec_makes_of_an_attribute(wire: str) -> None:
    attribute = identifiers.attribute_name(wire)

    made = msgspec.defstruct("Made", [(attribute, int, 0)], rename="camel")

    assert made.__struct_encode_fields__ == (identifiers.camel(attribute),)


@given(st.text(max_size=4))
def test_a_name_is_good_for_the_wire_exactly_if_msgspec_takes_it(wire: str) -> None:
    try:
        msgspec.defstruct("Made", [("x", int, 0)], rename={"x": wire})
    except ValueError:
        assert not identifiers.is_wire_name(wire)
    else:
        assert identifiers.is_wire_name(wire)


def test_a_class_inside_others_is_called_after_the_way_to_it() -> None:
    assert identifiers.nested_class_name(["CronTab", "Spec", "Steps"]) == "CronTabSpecSteps"


def test_a_long_way_is_cut_but_for_the_kind_and_the_end() -> None:
    path = ["Prometheus", "Spec", "Affinity", "PreferredDuringSchedulingIgnoredDuringExecution", "Preference"]

    assert identifiers.nested_class_name(path) == "PrometheusPreference"
    assert identifiers.nested_class_name(["K" * 70, "Spec", "Part"]) == "K" * 70 + "Part"


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert identifiers.numbered("Spec", {"Other"}) == "Spec"
    assert identifiers.numbered("Spec", {"Spec", "Spec2"}) == "Spec3"
