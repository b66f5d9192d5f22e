"""The approving controller: approves requests for client certificates of kubelets."""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.controllers.certificate_signing import KUBELET_CLIENT_SIGNER, find_kubelet_client_problem
from masthead_server.controllers.objects import ObjectClient
from masthead_server.wire.certificate_requests import list_common_names
from masthead_server.wire.plain import Plain, items, part, text
from masthead_server.wire.user_info import AUTHENTICATED_GROUP, UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectRef

__all__ = ["CertificateApprovalController"]

_GROUP: Final = "certificates.k8s.io"
_RESOURCE: Final = "certificatesigningrequests"
_TABLE: Final = f"{_GROUP}/{_RESOURCE}"
_USER: Final = UserInfo(
    "system:serviceaccount:kube-system:certificate-controller",
    groups=("system:serviceaccounts", "system:serviceaccounts:kube-system", AUTHENTICATED_GROUP),
)
"""The user of the approvals, whose permission admission checks."""


class _Recognition(NamedTuple):
    """A kind of request, and the permission that its user needs."""

    subresource: str
    message: str


_SELF: Final = _Recognition(
    "selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."
)
_ANY: Final = _Recognition("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")


class CertificateApprovalController:
    """Approves requests of kubelets if their user may create ``nodeclient`` or ``selfnodeclient`` requests."""

    observes = frozenset({_TABLE})

    def __init__(self, client: ObjectClient) -> None:
        self._client = ObjectClient(client.cluster, client.manager, _USER)

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile an undecided request for a kubelet's client certificate."""
        _, ref, record = write
        is_candidate = KUBELET_CLIENT_SIGNER.encode() in record.value and b'"conditions":' not in record.value
        return (ref,) if is_candidate and not record.is_deleted else ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Approve a request if its user has the permission.

        Raises:
            JournalError: The approval could not be stored.
        """
        found = self._client.load(ref)
        if found is None or items(part(found, "status"), "conditions") or part(found, "status").get("certificate"):
            return
        for recognition in _recognize(part(found, "spec")):
            if self._is_permitted(part(found, "spec"), recognition.subresource):
                approve = partial(_approve, message=recognition.message)
                await self._client.update(ref, approve, subresource="approval")
                return

    def _is_permitted(self, spec: Plain, subresource: str) -> bool:
        extra = {key: tuple(values) for key, values in part(spec, "extra").items()}
        user = UserInfo(text(spec, "username"), text(spec, "uid"), tuple(spec.get("groups") or ()), extra)
        attributes = AuthorizationAttributes(
            user, "create", group=_GROUP, version="*", resource=_RESOURCE, subresource=subresource
        )
        return self._client.cluster.authorizer.authorize(attributes).is_allowed


def _recognize(spec: Plain) -> tuple[_Recognition, ...]:
    if text(spec, "signerName") != KUBELET_CLIENT_SIGNER:
        return ()
    try:
        from cryptography import x509
    except ImportError:
        return ()  # the signing controller could not parse it either
    pem = base64.b64decode(text(spec, "request"))
    try:
        request = x509.load_pem_x509_csr(pem)
    except ValueError:
        return ()
    if find_kubelet_client_problem(request, spec.get("usages") or []):
        return ()
    return (_SELF, _ANY) if list_common_names(pem)[-1:] == [text(spec, "username")] else (_ANY,)


def _approve(request: Plain, message: str) -> None:
    condition = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
    request.setdefault("status", {}).setdefault("conditions", []).append(condition)
