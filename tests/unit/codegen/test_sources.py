"""Reading specs from folders, servers and manifests: what comes in, and what is said when it cannot."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from masthead._codegen import generate, sources
from masthead._codegen.command import main
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.resource import Resource, Subresource
from masthead.config import Config
from masthead.errors import ConfigError, GenerateError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

META = "io.k8s.apimachinery.pkg.apis.meta.v1."


def openapi(**schemas: Any) -> dict[str, Any]:
    """A document; double underscores stand for dots."""
    named = {name.replace("__", "."): schema for name, schema in schemas.items()}
    return {"openapi": "3.0.0", "components": {"schemas": named}, "paths": {}}


def kind(group: str, name: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, **properties},
        "x-kubernetes-group-version-kind": [{"group": group, "version": "v1", "kind": name}],
    }


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


PART_REF = ref("io.k8s.api.core.v1.Part")
PART = {"type": "object", "properties": {"n": {"type": "integer"}}}
CORE = openapi(io__k8s__api__core__v1__Ship=kind("", "Ship"), io__k8s__api__core__v1__Part=PART)
FRUIT = openapi(
    com__example__fruit__v1__Apple=kind("fruit.example.com", "Apple", size={"type": "integer"}),
    io__k8s__api__autoscaling__v1__Scale=kind("autoscaling", "Scale"),
)
# Refers to a type of the core group, of which this document does not say that it is one.
NUT = openapi(
    io__k8s__api__nut__v1__Pecan=kind("nut", "Pecan", part=PART_REF),
    io__k8s__api__core__v1__Part=PART,
)

DISCOVERY: dict[str, Any] = {
    "kind": "APIGroupDiscoveryList",
    "apiVersion": "apidiscovery.k8s.io/v2",
    "items": [
        {
            "metadata": {"name": "fruit.example.com"},
            "versions": [
                {
                    "version": "v1",
                    "resources": [
                        {
                            "resource": "apples",
                            "responseKind": {"group": "", "version": "", "kind": "Apple"},
                            "scope": "Namespaced",
                            "singularResource": "apple",
                            "verbs": ["watch", "get"],
                            "shortNames": ["ap"],
                            "categories": ["fruit"],
                            "subresources": [
                                {
                                    "subresource": "scale",
                                    "responseKind": {
                                        "group": "autoscaling",
                                        "version": "v1",
                                        "kind": "Scale",
                                    },
                                    "verbs": ["update", "get"],
                                },
                                {
                                    "subresource": "core",
                                    "responseKind": {"group": "", "version": "v1", "kind": "Part"},
                                    "verbs": ["create"],
                                },
                                {"subresource": "proxy", "verbs": ["get"]},
                            ],
                        },
                        {"resource": "nameless", "scope": "Cluster", "verbs": []},
                    ],
                }
            ],
        }
    ],
}
EMPTY_DISCOVERY = {"kind": "APIGroupDiscoveryList", "items": []}
INDEX = {
    "paths": {
        "api": {"serverRelativeURL": "/openapi/v3/api"},
        "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=1"},
        "apis/fruit.example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/fruit.example.com/v1?hash=2"},
        "apis/nut/v1": {"serverRelativeURL": "/openapi/v3/apis/nut/v1?hash=3"},
        "version": {"serverRelativeURL": "/openapi/v3/version"},
    }
}


@dataclass
class Server:
    """A server that answers with what it was given, and remembers what it was asked."""

    url: str
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    asked: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def config(self, **more: Any) -> Config:
        return Config(server=self.url, **more)


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            known.asked[path] = dict(self.headers.items())
            answer = known.answers.get(path, 404)
            if answer == "hang up":
                return
            status = answer if isinstance(answer, int) else 200
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) + (10 if answer == b"cut short" else 0)))
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Tests are quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        known = Server(f"http://127.0.0.1:{listening.server_port}")
        known.answers = {
            "/api": EMPTY_DISCOVERY,
            "/apis": DISCOVERY,
            "/openapi/v3": INDEX,
            "/openapi/v3/api/v1": CORE,
            "/openapi/v3/apis/fruit.example.com/v1": FRUIT,
            "/openapi/v3/apis/nut/v1": NUT,
        }
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield known
        listening.shutdown()
        thread.join()


def test_a_server_is_read_whole(server: Server) -> None:
    spec = sources.from_server(Config(server=f"{server.url}/"))

    assert set(spec.schemas) == {
        *CORE["components"]["schemas"],
        *FRUIT["components"]["schemas"],
        *NUT["components"]["schemas"],
    }
    assert "/openapi/v3/version" not in server.asked
    apple = GroupVersionKind("fruit.example.com", "v1", "Apple")
    assert spec.resources == {
        apple: Resource(
            "apples",
            singular="apple",
            namespaced=True,
            verbs=("get", "watch"),
            short_names=("ap",),
            categories=("fruit",),
            subresources=(
                Subresource("scale", GroupVersionKind("autoscaling", "v1", "Scale"), ("get", "update")),
                Subresource("core", GroupVersionKind("", "v1", "Part"), ("create",)),
            ),
        )
    }


def test_only_the_documents_of_wanted_groups_are_read(server: Server) -> None:
    spec = sources.from_server(server.config(), groups=["fruit.example.com"])

    assert set(spec.schemas) == set(FRUIT["components"]["schemas"])
    assert [path for path in server.asked if path.startswith("/openapi/v3/")] == [
        "/openapi/v3/apis/fruit.example.com/v1"
    ]


def test_what_a_wanted_group_refers_to_is_read_and_generated_too(server: Server) -> None:
    files = generate.files_for(sources.from_server(server.config(), groups=["nut"]), "made", groups=["nut"])

    assert {str(path) for path in files} == {
        "__init__.py",
        "index.py",
        "core/__init__.py",
        "core/v1.py",
        "nut/__init__.py",
        "nut/v1.py",
    }


@pytest.mark.parametrize("wrapper", [{"type": "array", "items": PART_REF}, {"additionalProperties": PART_REF}])
def test_references_inside_lists_and_maps_count_too(server: Server, wrapper: dict[str, Any]) -> None:
    server.answers["/openapi/v3/apis/nut/v1"] = openapi(
        io__k8s__api__nut__v1__Pecan=kind("nut", "Pecan", parts={"properties": {"inner": wrapper}}),
        io__k8s__api__core__v1__Part=PART,
    )

    spec = sources.from_server(server.config(), groups=["nut"])

    assert "io.k8s.api.core.v1.Ship" in spec.schemas


def test_certificates_need_not_be_checked(server: Server) -> None:
    assert sources.from_server(server.config(insecure=True)).schemas


def test_the_token_is_sent_with_every_request(server: Server) -> None:
    sources.from_server(server.config(token="secret"))

    assert len(server.asked) == 6
    assert {headers["Authorization"] for headers in server.asked.values()} == {"Bearer secret"}


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.answers |= {"/api": 302, "/elsewhere": EMPTY_DISCOVERY}

    with pytest.raises(GenerateError, match="a redirect to /elsewhere; redirects are not followed"):
        sources.from_server(server.config(token="secret"))

    assert "/elsewhere" not in server.asked


def test_no_token_goes_over_plain_http_to_another_machine() -> None:
    with pytest.raises(ConfigError, match="anyone on the network could read the credentials"):
        Config(server="http://192.0.2.1:8080", token="secret")


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_kubeconfig_gives_address_and_credentials(
    server: Server, tmp_path: Path, by_environment: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config"
    context = {"name": "dev", "context": {"cluster": "dev", "user": "dev"}}
    cluster = {"name": "dev", "cluster": {"server": server.url}}
    user = {"name": "dev", "user": {"token": "secret"}}
    path.write_text(json.dumps({"clusters": [cluster], "users": [user], "contexts": [context]}), "utf-8")
    monkeypatch.setenv("KUBECONFIG", str(path))
    source = [] if by_environment else ["--kubeconfig", str(path)]

    done = main([*source, "--context", "dev", "--out", str(tmp_path / "made"), "--group", "nut"])

    assert done == 0
    assert (tmp_path / "made" / "nut" / "v1.py").is_file()
    assert {headers["Authorization"] for headers in server.asked.values()} == {"Bearer secret"}


def test_without_a_token_none_is_sent(server: Server) -> None:
    sources.from_server(server.config())

    assert all("Authorization" not in headers for headers in server.asked.values())


def test_aggregated_discovery_is_requested(server: Server) -> None:
    sources.from_server(server.config())

    assert "as=APIGroupDiscoveryList" in server.asked["/apis"]["Accept"]
    assert server.asked["/openapi/v3/api/v1"]["Accept"] == "application/json"


def test_an_index_that_is_called_plain_text_is_read_all_the_same(server: Server) -> None:
    sources.from_server(server.config())

    assert server.asked["/openapi/v3"]["Accept"] == "*/*"  # kube-apiserver refuses nothing, and calls it text/plain


@pytest.mark.parametrize("path", ["/api", "/apis", "/openapi/v3", "/openapi/v3/apis/nut/v1"])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (404, "404 NotFound"),
        (403, "403 Forbidden"),
        (500, "500 InternalError"),
        (b"<html>", "an HTML page instead of JSON|malformed"),
        (b"", "the response is empty|truncated"),
        (b"cut short", "cut short"),
        (b'{"openapi": "\xff"}', "utf-8|missing"),
        (b'{"openapi":' * 100_000, "recursion|missing"),
        ("hang up", "closed the connection without a response"),
        ([], "not aggregated discovery|got `array`|not an OpenAPI v3 document"),
        (
            {"kind": "APIGroupList", "groups": []},
            "not aggregated discovery|missing|not an OpenAPI v3 document",
        ),
    ],
)
def test_an_answer_that_cannot_be_used_is_named(server: Server, path: str, answer: Any, said: str) -> None:
    server.answers[path] = answer

    with pytest.raises(GenerateError, match=f"(?i)^GET {server.url}{path}.*({said})"):
        sources.from_server(server.config())


def test_documents_that_are_malformed_inside_are_named(server: Server) -> None:
    server.answers["/apis"] = {**EMPTY_DISCOVERY, "items": [{"versions": "v1"}]}
    with pytest.raises(GenerateError, match=r"/apis: .*Expected `array.*`, got `str` - at `\$\.versions`"):
        sources.from_server(server.config())
    server.answers["/apis"] = DISCOVERY

    server.answers["/openapi/v3/api/v1"] = openapi(a__v1__B={"type": "object", "properties": []})
    with pytest.raises(GenerateError, match=r"/openapi/v3/api/v1.*Expected `object`, got `array`"):
        sources.from_server(server.config())

    server.answers["/openapi/v3"] = {"paths": {"api/v1": {"serverRelativeURL": "@evil.example.com/"}}}
    with pytest.raises(GenerateError, match=r'"@evil\.example\.com/", which is not a path'):
        sources.from_server(server.config())


def test_a_server_without_any_document_is_named(server: Server) -> None:
    server.answers["/openapi/v3"] = {"paths": {}}

    with pytest.raises(GenerateError, match=f"{server.url} serves no OpenAPI v3 document for any group"):
        sources.from_server(server.config())
    with pytest.raises(GenerateError, match="no OpenAPI v3 document for nowhere"):
        sources.from_server(server.config(), groups=["nowhere"])


def test_a_server_without_openapi_is_reported_with_advice(server: Server) -> None:
    server.answers["/openapi/v3"] = 404

    with pytest.raises(GenerateError, match=r"has no OpenAPI v3 .*; generate from manifests: --crd FILE$"):
        sources.from_server(server.config())


def test_an_unreachable_server_is_named() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as gone:
        port = gone.server_port

    with pytest.raises(GenerateError, match=rf"^GET http://127\.0\.0\.1:{port}/api: .*refused"):
        sources.from_server(Config(server=f"http://127.0.0.1:{port}"))


def test_invalid_certificates_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("not a certificate", "utf-8")

    with pytest.raises(ConfigError, match=r"no certificate in the certificate authority .*ca\.crt"):
        sources.from_server(Config(server="https://127.0.0.1:1", ca_file=tmp_path / "ca.crt"))


def test_a_folder_is_read_with_the_folders_in_it(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "fruit.json").write_text(json.dumps(FRUIT), "utf-8")
    (tmp_path / "discovery.json").write_text(json.dumps(DISCOVERY), "utf-8")
    others: list[Any] = [[1], 1, None, {"kind": 1}, {"components": []}, {"items": ["a"]}]
    for number, other in enumerate(others):
        (tmp_path / f"other{number}.json").write_text(json.dumps(other), "utf-8")

    spec = sources.from_folder(tmp_path)

    assert set(spec.schemas) == set(FRUIT["components"]["schemas"])
    assert [resource.name for resource in spec.resources.values()] == ["apples"]


def test_a_folder_without_documents_is_named(tmp_path: Path) -> None:
    (tmp_path / "discovery.json").write_text(json.dumps(DISCOVERY), "utf-8")

    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(GenerateError, match=f"^{folder} has no OpenAPI v3 document"):
            sources.from_folder(folder)


def test_a_folder_without_discovery_is_named(tmp_path: Path) -> None:
    (tmp_path / "fruit.json").write_text(json.dumps(FRUIT), "utf-8")

    with pytest.raises(GenerateError, match=f"^{tmp_path} has no discovery document, .* Accept: application/"):
        sources.from_folder(tmp_path)


@pytest.mark.parametrize("content", [b"{", b"", b"{'a': 1}", b'{"kind": "\xff"}', b'{"kind":' * 100_000])
def test_a_file_that_is_not_json_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.json").write_bytes(content)

    with pytest.raises(GenerateError, match=r"broken\.json: "):
        sources.from_folder(tmp_path)


def definition(**changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "group": "fruit.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Apple", "plural": "apples"},
        "versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "apples.fruit.example.com"},
        "spec": {**body, **changes},
    }


def write(folder: Path, *documents: Any) -> Path:
    path = folder / "manifest.yaml"
    path.write_text("\n---\n".join(json.dumps(document) for document in documents), "utf-8")
    return path


def test_a_minimal_definition_gets_the_defaults_of_the_server(tmp_path: Path) -> None:
    spec = sources.from_manifests([write(tmp_path, definition())])

    assert [(str(gvk), each.name, each.singular) for gvk, each in spec.resources.items()] == [
        ("fruit.example.com/v1, kind Apple", "apples", "apple")
    ]
    assert set(spec.schemas) == {"com.example.fruit.v1.Apple", "com.example.fruit.v1.AppleList"}


def test_nulls_in_a_definition_count_as_absent(tmp_path: Path) -> None:
    version = {
        "name": "v1",
        "served": None,
        "subresources": {"status": None},
        "schema": {"openAPIV3Schema": None},
    }
    names = {"kind": "Apple", "plural": "apples", "shortNames": None, "listKind": None}

    spec = sources.from_manifests([write(tmp_path, definition(names=names, versions=[version]))])

    assert [resource.subresources for resource in spec.resources.values()] == [()]


@pytest.mark.parametrize("wrapper", ["List", "CustomResourceDefinitionList"])
def test_lists_are_searched_and_other_objects_passed_over(tmp_path: Path, wrapper: str) -> None:
    items = [{"kind": "ConfigMap"}, None, "text", {"kind": "List", "items": [definition()]}]

    spec = sources.from_manifests(
        [write(tmp_path, {"kind": "Service"}, 1, ["text"], {"kind": wrapper, "items": items})]
    )

    assert len(spec.resources) == 1


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [{"kind": "ConfigMap"}],
        [{"kind": "List"}],
        [{"kind": "List", "items": {}}],
        [{**definition(), "apiVersion": "apiextensions.k8s.io/v1beta1"}],
        [definition(versions=[{"name": "v1", "served": False}])],
    ],
)
def test_a_manifest_without_definitions_is_named(tmp_path: Path, documents: list[Any]) -> None:
    path = write(tmp_path, *documents)

    with pytest.raises(GenerateError, match=f"no CustomResourceDefinition .* in {path}"):
        sources.from_manifests([path])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"names": {"plural": "apples"}}, r"missing required field `kind` - at `\$\.spec\.names`"),
        ({"names": None}, r"missing required field `names`"),
        ({"names": "Apple"}, r"Expected `object`, got `str`"),
        ({"names": {"kind": "App le", "plural": "apples"}}, "app le"),
        ({"names": {"kind": "Apple", "plural": "app/les"}}, "app/les"),
        ({"names": {"kind": "Apple", "plural": "apples", "shortNames": "a"}}, "shortNames"),
        ({"group": None}, "missing required field `group`"),
        ({"group": 7}, "Expected `str`, got `int`"),
        ({"group": "Fruit"}, "Fruit"),
        ({"scope": "Everywhere"}, "scope"),
        ({"versions": "v1"}, r"Expected `array`, got `str` - at `\$\.spec\.versions`"),
        ({"versions": ["v1"]}, "Expected `object`, got `str`"),
        ({"versions": [{"served": True}]}, "missing required field `name`"),
        ({"versions": [{"name": "../../v1"}]}, "v1"),
        ({"versions": [{"name": "v1", "schema": []}]}, "schema"),
        ({"versions": [{"name": "v1", "subresources": ["status"]}]}, "subresources"),
        ({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": ["a"]}}}]}, "properties"),
        ({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"required": "a"}}}]}, "required"),
        (
            {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"a": "string"}}}}]},
            "properties",
        ),
        (
            {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"x-kubernetes-list-type": "heap"}}}]},
            "x-kubernetes-list-type 'heap' is none of atomic, set, map",
        ),
    ],
)
def test_a_malformed_definition_is_named_with_what_is_wrong(tmp_path: Path, changes: Any, said: str) -> None:
    path = write(tmp_path, definition(**changes))

    with pytest.raises(GenerateError, match=rf"^{path}: CustomResourceDefinition apples\.fruit.*{said}"):
        sources.from_manifests([path])


@pytest.mark.parametrize("broken", [{}, {"spec": []}, {"spec": None}, {"metadata": []}, {"metadata": None}])
def test_a_definition_without_a_body_or_a_name_is_an_error_too(tmp_path: Path, broken: Any) -> None:
    stripped = {name: definition()[name] for name in ("apiVersion", "kind")}

    with pytest.raises(GenerateError, match=r"CustomResourceDefinition \?: "):
        sources.from_manifests([write(tmp_path, {**stripped, **broken})])


@pytest.mark.parametrize("content", [b"a: [", b"a: 1\na: 2", b"\xff\xfe\x00", b"a: &x [*x]"])
def test_a_file_that_is_not_yaml_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)

    with pytest.raises(GenerateError, match=r"broken\.yaml"):
        sources.from_manifests([path])


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.yaml", tmp_path):
        with pytest.raises(GenerateError, match=f"^{path}: (No such file|Is a directory)"):
            sources.from_manifests([path])
