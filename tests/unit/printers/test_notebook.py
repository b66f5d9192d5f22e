"""What notebooks show: escaped, bounded, and without secrets."""

from __future__ import annotations

from masthead._client.remotecommand.results import ExecResult
from masthead.api.core.v1 import ConfigMap, Pod, PodList, Secret
from masthead.meta import ManagedFieldsEntry


def test_an_object_is_shown_as_yaml() -> None:
    shown = ConfigMap.new("settings", data={"page": "<script>alert(1)</script>"})._repr_html_()

    assert shown.startswith("<pre>apiVersion: v1\n")
    assert "page: &lt;script&gt;alert(1)&lt;/script&gt;\n" in shown


def test_the_values_of_a_secret_are_hidden() -> None:
    secret = Secret.new("token", string_data={"a": "geheim"}, annotations={"note": "kept"})
    secret.data["b"] = b"geheim"
    secret.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"] = '{"data": {"b": "Z2VoZWlt"}}'

    shown = secret._repr_html_()

    assert "geheim" not in shown
    assert "Z2VoZWlt" not in shown
    assert "  a: (hidden)\n" in shown
    assert "  b: (hidden)\n" in shown
    assert "note: kept" in shown
    # The object itself keeps its values.
    assert secret.data["b"] == b"geheim"


def test_managed_fields_are_left_out() -> None:
    pod = Pod.new("web")
    pod.metadata.managed_fields = [ManagedFieldsEntry(manager="somebody")]

    assert "somebody" not in pod._repr_html_()
    # Only the picture leaves them out.
    assert pod.metadata.managed_fields[0].manager == "somebody"


def test_a_long_object_is_cut() -> None:
    shown = ConfigMap.new("big", data={"text": "<" * 100_000})._repr_html_()

    assert shown.endswith(" more characters</pre>")
    # Escaping makes some characters longer.
    assert len(shown) < 250_000


def test_a_list_is_shown_as_a_table() -> None:
    one = PodList(items=[Pod.new("<b>", namespace="shop")])._repr_html_()
    several = PodList(items=[Pod.new("a", namespace="shop"), Pod.new("b", namespace="bar")])._repr_html_()

    assert one.startswith("<table><tr><th>NAME</th>")
    assert "<td>&lt;b&gt;</td>" in one
    assert several.startswith("<table><tr><th>NAMESPACE</th>")


def test_an_empty_list_is_shown_as_such() -> None:
    assert "no rows" in PodList()._repr_html_()


def test_the_result_of_a_command_is_what_it_printed() -> None:
    assert ExecResult(0, b"<a>\n", b"")._repr_html_() == "<pre>&lt;a&gt;</pre>"
    assert ExecResult(2, b"out\n", b"err\xff\n")._repr_html_() == "<pre>out\nerr\ufffd\n(exit code 2)</pre>"
