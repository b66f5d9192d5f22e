"""The signing controller: signs approved certificate requests of the built-in signers."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cryptography.x509 import CertificateSigningRequest

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["KUBELET_CLIENT_SIGNER", "CertificateSigningController", "find_kubelet_client_problem"]

_TABLE: Final = "certificates.k8s.io/certificatesigningrequests"
_MAX_LIFETIME: Final = timedelta(days=365)
_MIN_LIFETIME: Final = timedelta(minutes=10)
KUBELET_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
_NODES: Final = "system:nodes"
_NODE: Final = "system:node:"
_SERVING_USAGES: Final = ("digital signature", "key encipherment", "server auth")
_CLIENT_USAGES: Final = ("client auth", "digital signature", "key encipherment")
_OPTIONAL: Final = "key encipherment"
"""What only RSA keys need."""


class CertificateSigningController:
    """Signs approved requests with the authority of the server, which needs the extra ``tls``."""

    observes = frozenset({_TABLE})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a request that may be approved, and has no certificate."""
        _, ref, record = write
        is_candidate = b'"Approved"' in record.value and b'"certificate":' not in record.value
        return (ref,) if is_candidate and not record.is_deleted else ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Sign a request, or report why it is not signed.

        Raises:
            JournalError: The certificate could not be stored.
        """
        found = self._client.load(ref)
        signer = self._client.cluster.find_signer()
        if found is None or signer is None or not _is_due(found):
            return
        from cryptography import x509

        spec = part(found, "spec")
        validate = _SIGNERS.get(text(spec, "signerName"))
        try:
            request = x509.load_pem_x509_csr(base64.b64decode(text(spec, "request")))
        except ValueError:
            return
        if validate is None or not request.is_signature_valid:
            return
        usages: list[str] = spec.get("usages") or []
        now = self._client.cluster.clock.now()
        if problem := validate(request, usages):
            failure = _failure(problem, self._client.cluster.now())
            await self._client.update(ref, lambda csr: _add_condition(csr, failure), subresource="status")
            return
        signed = signer.sign_request(request, usages, now, _lifetime(spec.get("expirationSeconds")))
        encoded = base64.b64encode(signed.encode()).decode()
        await self._client.update(ref, lambda csr: _set_certificate(csr, encoded), subresource="status")


def _is_due(request: Plain) -> bool:
    status = part(request, "status")
    conditions = {text(condition, "type") for condition in items(status, "conditions")}
    return "Approved" in conditions and conditions.isdisjoint({"Denied", "Failed"}) and not status.get("certificate")


def _lifetime(seconds: int | None) -> timedelta:
    if seconds is None:
        return _MAX_LIFETIME
    return min(max(timedelta(seconds=seconds), _MIN_LIFETIME), _MAX_LIFETIME)


def _failure(message: str, now: str) -> Plain:
    return {
        "type": "Failed",
        "status": "True",
        "reason": "SignerValidationFailure",
        "message": message,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    }


def _add_condition(request: Plain, condition: Plain) -> None:
    request.setdefault("status", {}).setdefault("conditions", []).append(condition)


def _set_certificate(request: Plain, encoded: str) -> None:
    request.setdefault("status", {})["certificate"] = encoded


def _find_client_problem(_: CertificateSigningRequest, usages: list[str]) -> str:
    for usage in usages:
        if usage not in _CLIENT_USAGES:
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def find_kubelet_client_problem(request: CertificateSigningRequest, usages: list[str]) -> str:
    """Return why a request does not qualify for a kubelet's client certificate; empty if it does."""
    if _organizations(request) != [_NODES]:
        return "subject organization is not system:nodes"
    for kind, names in _alternative_names(request).items():
        if names:
            return f"{kind} subjectAltNames are not allowed"
    if not _common_name(request).startswith(_NODE):
        return "subject common name does not begin with system:node:"
    return _find_usage_problem(usages, _CLIENT_USAGES)


def _find_serving_problem(request: CertificateSigningRequest, usages: list[str]) -> str:
    if _organizations(request) != [_NODES]:
        return "subject organization is not system:nodes"
    names = _alternative_names(request)
    if not names["DNS"] and not names["IP"]:
        return "DNS or IP subjectAltName is required"
    for kind in ("Email", "URI"):
        if names[kind]:
            return f"{kind} subjectAltNames are not allowed"
    if problem := _find_usage_problem(usages, _SERVING_USAGES):
        return problem
    return "" if _common_name(request).startswith(_NODE) else "subject common name does not begin with system:node:"


def _find_usage_problem(usages: list[str], expected: tuple[str, ...]) -> str:
    is_exact = {*usages} in ({*expected}, {*expected} - {_OPTIONAL})
    return "" if is_exact else f"usages did not match [{' '.join(expected)}]"


_SIGNERS: Final[Mapping[str, Callable[[CertificateSigningRequest, list[str]], str]]] = {
    "kubernetes.io/kube-apiserver-client": _find_client_problem,
    KUBELET_CLIENT_SIGNER: find_kubelet_client_problem,
    "kubernetes.io/kubelet-serving": _find_serving_problem,
    "kubernetes.io/legacy-unknown": lambda _request, _usages: "",
}
"""The built-in signers: what finds a problem of a request; empty for none."""


def _organizations(request: CertificateSigningRequest) -> list[str]:
    from cryptography.x509 import NameOID

    return [str(attribute.value) for attribute in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def _common_name(request: CertificateSigningRequest) -> str:
    from cryptography.x509 import NameOID

    names = request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def _alternative_names(request: CertificateSigningRequest) -> dict[str, list[object]]:
    """The alternative names of a subject by their kinds, in the order in which they are checked."""
    from cryptography import x509

    try:
        names: list[x509.GeneralName] = [*request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value]
    except x509.ExtensionNotFound:
        names = []
    return {
        "DNS": [name for name in names if isinstance(name, x509.DNSName)],
        "Email": [name for name in names if isinstance(name, x509.RFC822Name)],
        "IP": [name for name in names if isinstance(name, x509.IPAddress)],
        "URI": [name for name in names if isinstance(name, x509.UniformResourceIdentifier)],
    }
