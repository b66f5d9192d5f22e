"""Users who identify themselves with certificates, and certificate requests that the server signs."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.server.calls import Caller

import masthead
import masthead.server
from masthead.api.core.v1 import Namespace
from masthead.errors import ArgumentError
from masthead.server import ClientCertificate, Server, VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def call(
    server: Server,
    folder: Path,
    credentials: ClientCertificate | None,
    *,
    path: str = REVIEWS,
    headers: dict[str, str] | None = None,
) -> tuple[int, Any]:
    """Send a review of oneself, over TLS and with a certificate."""
    context = ssl.create_default_context(cadata=server.ca)
    if credentials is not None:
        file = folder / "client.pem"
        file.write_text(credentials.certificate + credentials.key)
        context.load_cert_chain(file)
    host, _, port = server.url.rpartition("//")[2].rpartition(":")
    with closing(http.client.HTTPSConnection(host, int(port), context=context, timeout=60)) as connection:
        connection.request("POST", path, "{}", {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def user_of(server: Server, folder: Path, credentials: ClientCertificate) -> Any:
    status, body = call(server, folder, credentials)
    assert status == 201, body
    return body["status"]["userInfo"]


@pytest.fixture(params=[False, True], ids=["both on one port", "TLS alone"])
def tls_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with masthead.server.run(clock=VirtualClock, tls=request.param, authorization="rbac") as running:
        yield running


def test_a_certificate_names_a_user_its_groups_and_its_uid(tls_server: Server, tmp_path: Path) -> None:
    issued = tls_server.client_certificate("jane", ["devs", "testers"], uid="7")

    found = user_of(tls_server, tmp_path, issued)

    der = x509.load_pem_x509_certificate(issued.certificate.encode()).fingerprint(hashes.SHA256()).hex()
    assert found == {
        "username": "jane",
        "uid": "7",
        "groups": ["devs", "testers", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": [f"X509SHA256={der}"]},
    }


def test_a_client_without_a_certificate_is_anonymous(tls_server: Server, tmp_path: Path) -> None:
    status, body = call(tls_server, tmp_path, None)

    assert (status, "system:anonymous" in body["message"]) == (403, True)


def test_a_certificate_comes_before_a_token(tls_server: Server, tmp_path: Path) -> None:
    issued = tls_server.client_certificate("jane")

    for token in (tls_server.token, "nonsense"):
        _, body = call(tls_server, tmp_path, issued, headers={"Authorization": f"Bearer {token}"})
        assert body["status"]["userInfo"]["username"] == "jane"


def test_a_certificate_expires_on_the_clock_of_the_server(tls_server: Server, tmp_path: Path) -> None:
    issued = tls_server.client_certificate("jane", lifetime=timedelta(hours=1))
    assert call(tls_server, tmp_path, issued)[0] == 201

    tls_server.advance(3601)

    assert call(tls_server, tmp_path, issued)[0] == 401
    # A token helps, as on the real server.
    bearer = {"Authorization": f"Bearer {tls_server.token}"}
    status, body = call(tls_server, tmp_path, issued, headers=bearer)
    assert (status, body["status"]["userInfo"]["username"]) == (201, "kubernetes-admin")


def test_a_certificate_of_another_authority_ends_the_connection(tls_server: Server, tmp_path: Path) -> None:
    with masthead.server.run(tls=True) as other:
        foreign = other.client_certificate("system:admin", ["system:masters"])

    with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
        call(tls_server, tmp_path, foreign)


def test_a_web_page_may_not_use_the_certificate_of_its_visitor(tls_server: Server, tmp_path: Path) -> None:
    issued = tls_server.client_certificate("jane")

    status, body = call(tls_server, tmp_path, issued, headers={"Origin": "https://evil.example"})

    assert status == 403
    assert "comes from the web page" in body["message"]


def test_members_of_system_masters_may_impersonate(tls_server: Server, tmp_path: Path) -> None:
    issued = tls_server.client_certificate("boss", ["system:masters"])

    _, body = call(tls_server, tmp_path, issued, headers={"Impersonate-User": "jane"})

    assert body["status"]["userInfo"]["username"] == "jane"


def test_names_must_not_be_empty(tls_server: Server) -> None:
    with pytest.raises(ArgumentError, match="must not be empty"):
        tls_server.client_certificate("")
    with pytest.raises(ArgumentError, match="must not be empty"):
        tls_server.client_certificate("jane", [""])


def test_a_kubeconfig_with_a_certificate_connects_as_its_user(tls_server: Server, tmp_path: Path) -> None:
    issued = tls_server.client_certificate("boss", ["system:masters"])
    file = tls_server.write_kubeconfig(tmp_path / "config", issued)

    with masthead.Client(kubeconfig=file) as client:
        assert client.resource(Namespace).get("default").metadata.name == "default"


@pytest.mark.slow
def test_kubeconfigs_certificates_and_tokens_survive_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "cluster.db"
    with masthead.server.run(data=data, tls=True) as first:
        port = int(first.url.rpartition(":")[2])
        config = first.write_kubeconfig(tmp_path / "admin.kubeconfig")
        issued = first.client_certificate("jane", ["devs"])
        token = _request_token(first, tmp_path)
        authority = first.ca

    with masthead.server.run(data=data, tls=True, port=port) as second:
        assert second.ca == authority
        assert user_of(second, tmp_path, issued)["username"] == "jane"
        status, body = call(second, tmp_path, None, headers={"Authorization": f"Bearer {token}"})
        assert (status, body["status"]["userInfo"]["username"]) == (201, "system:serviceaccount:default:default")
        with masthead.Client(kubeconfig=config) as client:
            assert client.resource(Namespace).get("default").metadata.name == "default"


def _request_token(server: Server, folder: Path) -> str:
    bearer = {"Authorization": f"Bearer {server.token}"}
    status, body = call(server, folder, None, path=f"{ACCOUNTS}/default/token", headers=bearer)
    assert status == 201, body
    return str(body["status"]["token"])


def _make_request(*groups: str, name: str, dns: str = "") -> tuple[str, str]:
    """A certificate request in base64, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group) for group in groups]
    attributes.append(x509.NameAttribute(x509.NameOID.COMMON_NAME, name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(attributes))
    if dns:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(dns)]), critical=False)
    made = builder.sign(key, hashes.SHA256())
    written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return base64.b64encode(made.public_bytes(Encoding.PEM)).decode(), written


def _submit(caller: Caller, server: Server, request: str, signer: str, *usages: str, **spec: object) -> Any:
    """Create and approve a request; return it after the server had the time to sign it."""
    made = {"signerName": f"kubernetes.io/{signer}", "request": request, "usages": list(usages), **spec}
    response = caller.call("POST", CSRS, {"metadata": {"name": "mine"}, "spec": made})
    assert response.code == 201, response.json
    approved = {"type": "Approved", "status": "True", "reason": "Test"}
    csr = {**response.json, "status": {"conditions": [approved]}}
    assert caller.call("PUT", f"{CSRS}/mine/approval", csr).code == 200
    server.block_until_idle()
    return caller.call("GET", f"{CSRS}/mine").json


def test_an_approved_request_is_signed_and_the_certificate_authenticates(server: Server, tmp_path: Path) -> None:
    caller = Caller(server.url, server.token)
    request, key = _make_request("devs", name="jane")

    csr = _submit(caller, server, request, "kube-apiserver-client", "client auth")

    certificate = base64.b64decode(csr["status"]["certificate"]).decode()
    found = user_of(server, tmp_path, ClientCertificate(certificate, key))
    assert (found["username"], found["groups"]) == ("jane", ["devs", "system:authenticated"])
    caller.close()


@pytest.mark.parametrize("authorization", ["rbac", "node,rbac"])
def test_requests_are_signed_where_roles_are_enforced(authorization: str) -> None:
    request, _ = _make_request(name="jane")
    with masthead.server.run(authorization=authorization) as server:
        caller = Caller(server.url, server.token)
        assert "certificate" in _submit(caller, server, request, "kube-apiserver-client", "client auth")["status"]
        caller.close()


def test_the_lifetime_of_a_signed_certificate(server: Server) -> None:
    caller = Caller(server.url, server.token)
    request, _ = _make_request(name="jane")

    csr = _submit(caller, server, request, "kube-apiserver-client", "client auth", expirationSeconds=3600)

    signed = x509.load_pem_x509_certificate(base64.b64decode(csr["status"]["certificate"]))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert signed.not_valid_before_utc == start - timedelta(minutes=5)
    assert signed.not_valid_after_utc == start + timedelta(hours=1)
    caller.close()


def test_the_serving_certificate_of_a_kubelet_keeps_its_names(server: Server) -> None:
    caller = Caller(server.url, server.token)
    request, _ = _make_request("system:nodes", name="system:node:n1", dns="n1.example")

    csr = _submit(caller, server, request, "kubelet-serving", "digital signature", "server auth")

    signed = x509.load_pem_x509_certificate(base64.b64decode(csr["status"]["certificate"]))
    names = signed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n1.example"]
    caller.close()


@pytest.mark.parametrize(
    ("signer", "usages", "groups", "name", "problem"),
    [
        pytest.param(
            "kube-apiserver-client",
            ["server auth"],
            [],
            "jane",
            "invalid usage for client certificate: server auth",
            id="a client's certificate for a server",
        ),
        pytest.param(
            "kube-apiserver-client",
            ["digital signature"],
            [],
            "jane",
            "missing required usage for client certificate: client auth",
            id="a client's certificate for nothing",
        ),
        pytest.param(
            "kube-apiserver-client-kubelet",
            ["client auth", "digital signature"],
            ["devs"],
            "system:node:n1",
            "subject organization is not system:nodes",
            id="a kubelet of other groups",
        ),
        pytest.param(
            "kube-apiserver-client-kubelet",
            ["client auth", "digital signature"],
            ["system:nodes"],
            "jane",
            "subject common name does not begin with system:node:",
            id="a kubelet that is no node",
        ),
        pytest.param(
            "kube-apiserver-client-kubelet",
            ["client auth"],
            ["system:nodes"],
            "system:node:n1",
            "usages did not match [client auth digital signature key encipherment]",
            id="a kubelet without signatures",
        ),
        pytest.param(
            "kubelet-serving",
            ["digital signature", "server auth"],
            ["system:nodes"],
            "system:node:n1",
            "DNS or IP subjectAltName is required",
            id="a serving certificate without names",
        ),
    ],
)
def test_a_request_that_does_not_fit_its_signer_fails(
    server: Server, signer: str, usages: list[str], groups: list[str], name: str, problem: str
) -> None:
    caller = Caller(server.url, server.token)
    request, _ = _make_request(*groups, name=name)

    csr = _submit(caller, server, request, signer, *usages)

    assert "certificate" not in csr["status"]
    failed = csr["status"]["conditions"][-1]
    assert (failed["type"], failed["reason"], failed["message"]) == ("Failed", "SignerValidationFailure", problem)
    caller.close()


def test_requests_of_other_signers_are_left_alone(server: Server) -> None:
    caller = Caller(server.url, server.token)
    request, _ = _make_request(name="jane")
    made = {"signerName": "example.com/mine", "request": request, "usages": ["client auth"]}
    caller.call("POST", CSRS, {"metadata": {"name": "mine"}, "spec": made})
    server.block_until_idle()

    assert caller.call("GET", f"{CSRS}/mine").json["status"] == {}
    caller.close()


KUBELET_USAGES = ["client auth", "digital signature"]


def _submit_kubelet(caller: Caller, server: Server, name: str, headers: dict[str, str] | None = None) -> Any:
    """Create the request of a kubelet, without an approval; return it when the controllers have seen it."""
    request, _ = _make_request("system:nodes", name="system:node:n1")
    signer = "kubernetes.io/kube-apiserver-client-kubelet"
    spec = {"signerName": signer, "request": request, "usages": KUBELET_USAGES}
    response = caller.call("POST", CSRS, {"metadata": {"name": name}, "spec": spec}, headers=headers)
    assert response.code == 201, response.json
    server.block_until_idle()
    return caller.call("GET", f"{CSRS}/{name}").json


def test_the_client_certificate_of_a_kubelet_is_approved_and_signed(server: Server) -> None:
    caller = Caller(server.url, server.token)

    csr = _submit_kubelet(caller, server, "mine")

    (condition,) = csr["status"]["conditions"]
    assert (condition["reason"], condition["message"]) == (
        "AutoApproved",
        "Auto approving kubelet client certificate after SubjectAccessReview.",
    )
    assert "certificate" in csr["status"]
    caller.close()


def test_a_user_without_the_permission_waits_for_an_approval() -> None:
    with masthead.server.run(authorization="rbac", clock=VirtualClock) as server:
        caller = Caller(server.url, server.token)
        headers = {"Impersonate-User": "boot", "Impersonate-Group": "starters"}
        _bind(caller, "system:node-bootstrapper")
        assert _submit_kubelet(caller, server, "early", headers)["status"] == {}

        _bind(caller, "system:certificates.k8s.io:certificatesigningrequests:nodeclient")

        assert "certificate" in _submit_kubelet(caller, server, "late", headers)["status"]
        caller.close()


def _bind(caller: Caller, role: str) -> None:
    group = "rbac.authorization.k8s.io"
    body = {
        "metadata": {"name": f"starters-{role.rpartition(':')[2]}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "starters"}],
    }
    assert caller.call("POST", f"/apis/{group}/v1/clusterrolebindings", body).code == 201


def test_requests_are_deleted_an_hour_after_their_decision_and_a_day_after_their_creation() -> None:
    with masthead.server.run(clock=VirtualClock) as server:
        caller = Caller(server.url, server.token)
        _submit_kubelet(caller, server, "signed")
        request, _ = _make_request(name="jane")
        spec = {"signerName": "example.com/mine", "request": request, "usages": ["client auth"]}
        caller.call("POST", CSRS, {"metadata": {"name": "pending"}, "spec": spec})

        def names_after(seconds: float) -> list[str]:
            server.advance(seconds)
            server.block_until_idle()
            return [found["metadata"]["name"] for found in caller.call("GET", CSRS).json["items"]]

        assert names_after(3590) == ["pending", "signed"]
        assert names_after(20) == ["pending"]
        assert names_after(23 * 3600) == []
        caller.close()
