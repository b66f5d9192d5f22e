"""Descriptions from docstrings: of classes, and of attributes by their names on the wire."""

from __future__ import annotations

import pytest

from masthead._cli.api_docstrings import describe_schema, read_descriptions

SOURCE = '''
class Pod(Object):
    """One or more containers; `masthead.meta` has more.
    See `restart_policy`.

    Second paragraph. In Python write `Pod()`.
    """

    GVK = 1
    restart_policy: str = ""
    """When containers
    restart."""
    pod_ips: list[str] = field(default_factory=list, name="podIPs")
    """All addresses; the first is `host_ip`."""
    undocumented: str = ""
    host_ip: str | None = field(default=None, name="hostIP")
    """One of `pod_ips`."""
'''


def test_types_and_fields_have_their_docstrings() -> None:
    described = read_descriptions(SOURCE)["Pod"]

    assert described.text == "One or more containers. See `restartPolicy`.\n\nSecond paragraph."
    assert described.fields == {
        "restartPolicy": "When containers restart.",
        "podIPs": "All addresses; the first is `hostIP`.",
        "hostIP": "One of `podIPs`.",
    }


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("io.k8s.api.core.v1.Pod", "One or more containers"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "The metadata of an object"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", "Selects objects by their labels"),
        ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec", "Desired definition"),
        ("io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference", "Service in front"),
    ],
)
def test_built_in_schemas_are_described(name: str, begins: str) -> None:
    assert describe_schema(name).text.startswith(begins)


@pytest.mark.parametrize(
    "name",
    [
        "com.example.v1.Widget",
        "io.k8s.api.core.v9.Pod",  # of a newer server
        "io.k8s.api.core.v1.Nothing",
        "io.k8s.api.../../secret.v1.Pod",
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        "",
    ],
)
def test_other_schemas_have_no_descriptions(name: str) -> None:
    described = describe_schema(name)

    assert (described.text, described.fields) == ("", {})
