"""CertificateSigningRequests: validation."""

from __future__ import annotations

import base64
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import duplicate, forbidden, invalid, required, too_long
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior
from masthead_server.resources.validation.checks import each_of, unique, unsupported, words
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.user_info import UserInfo

_PEM: Final = re.compile(rb"^-----BEGIN (NEW )?CERTIFICATE REQUEST-----$", re.MULTILINE)
_BLOCK: Final = re.compile(rb"^-----BEGIN ([^-]*)-----$", re.MULTILINE)
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_MAX_DOMAIN_LENGTH: Final = 253
_MAX_SIGNER_LENGTH: Final = 571
_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
VERDICTS: Final = ("Approved", "Denied")
_FINAL: Final = (*VERDICTS, "Failed")
_CONDITIONS: Final = "status.conditions"


def request_errors(request: Plain) -> Errors:
    """Return the errors of a CertificateSigningRequest."""
    spec = part(request, "spec")
    errors: Errors = []
    # kube-apiserver parses the request as well; its block type is all that is checked here.
    if not _PEM.search(base64.b64decode(text(spec, "request"))):
        why = "PEM block type must be CERTIFICATE REQUEST"
        errors.append(invalid("spec.request", spec.get("request"), why))
    errors += _usage_errors(words(spec, "usages"))
    errors += _signer_errors(text(spec, "signerName"))
    seconds = spec.get("expirationSeconds")
    # A signer may choose another duration; a request below ten minutes never reaches one.
    if seconds is not None and seconds < 600:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, why))
    return errors


def _usage_errors(usages: list[str]) -> Errors:
    if not usages:
        return [required("spec.usages")]
    errors: Errors = [
        unsupported(f"spec.usages[{index}]", usage, _USAGES)
        for index, usage in enumerate(usages)
        if usage not in _USAGES
    ]
    # A second pass, because kube-apiserver lists all unknown usages before the duplicates.
    seen: set[str] = set()
    for index, usage in enumerate(usages):
        errors += unique(f"spec.usages[{index}]", usage, seen)
    return errors


def _signer_errors(signer: str) -> Errors:
    path = "spec.signerName"
    if not signer:
        return [required(path)]
    # v1beta1 accepted it; v1 never did.
    if signer == _LEGACY_SIGNER:
        return [invalid(path, signer, "the legacy signerName is not allowed via this API version")]
    domain, _, name = signer.partition("/")
    if signer.count("/") != 1:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, signer, why)]
    errors = [too_long(path, _MAX_DOMAIN_LENGTH)] if len(domain) > _MAX_DOMAIN_LENGTH else []
    labels = domain.split(".")
    errors += _label_errors(path, domain, labels, names.LABEL)
    if len(labels) == 1:
        why = "should be a domain with at least two segments separated by dots"
        errors.append(invalid(path, domain, why))
    errors += _label_errors(path, name, name.split("."), names.SUBDOMAIN)
    # The limit is that of domain/namespace.name with a service account's name: 253 + 1 + 253 + 1 + 63.
    return [*errors, too_long(path, _MAX_SIGNER_LENGTH)] if len(signer) > _MAX_SIGNER_LENGTH else errors


def _label_errors(path: str, value: str, labels: list[str], rule: names.Format) -> Errors:
    """Return the errors of the first label that has any; those of others would be the same."""
    for label in labels:
        if problems := rule(label):
            return [invalid(path, value, f"validating label {quoted(label)}: {problem}") for problem in problems]
    return []


def of_type(request: Plain, kind: str) -> list[Plain]:
    """Return the conditions of a type."""
    return [condition for condition in items(part(request, "status"), "conditions") if condition.get("type") == kind]


def _condition_errors(status: Plain) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for at, condition in each_of(status, "conditions", "status"):
        kind, value = text(condition, "type"), text(condition, "status")
        if not kind:
            errors.append(required(f"{at}.type"))
        # A verdict is final: it has no False to go back to.
        known = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        if not value:
            errors.append(required(f"{at}.status"))
        elif value not in known:
            errors.append(unsupported(f"{at}.status", value, known))
        # Both orders of the two are contradictions.
        if kind in VERDICTS and set(VERDICTS) <= seen | {kind}:
            errors.append(invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive"))
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
    return errors


def _certificate_errors(certificate: str) -> Errors:
    path, shown = "status.certificate", "<certificate data>"
    blocks = _BLOCK.findall(base64.b64decode(certificate))
    for block in blocks:
        if block != b"CERTIFICATE":
            why = f'only CERTIFICATE PEM blocks are allowed, found "{block.decode(errors="replace")}"'
            return [invalid(path, shown, why)]
    return [] if blocks else [invalid(path, shown, "must contain at least one CERTIFICATE PEM block")]


def change_errors(new: Plain, old: Plain, *, decides: bool) -> Errors:
    """Validate what a request came to.

    Args:
        new: The request.
        old: What it was.
        decides: Whether a verdict may come by this way.
    """
    after, before = part(new, "status"), part(old, "status")
    errors = _condition_errors(after)
    certificate, known = text(after, "certificate"), text(before, "certificate")
    # An unchanged certificate is not checked again, so that one accepted by an older server stays writable.
    if certificate and certificate != known:
        errors += _certificate_errors(certificate)
    # Counts, not content: the prepare hooks have already restored the known verdicts.
    gone = [element for element in _FINAL if len(of_type(new, element)) < len(of_type(old, element))]
    errors += [forbidden(_CONDITIONS, f'updates may not remove a condition of type "{entry}"') for entry in gone]
    come = [verdict for verdict in VERDICTS if len(of_type(new, verdict)) > len(of_type(old, verdict))]
    if not decides:
        errors += [forbidden(_CONDITIONS, f'updates may not add a condition of type "{item}"') for item in come]
    # A client may have used the issued certificate already.
    if known and certificate != known:
        errors.append(forbidden("status.certificate", "updates may not modify existing certificate content"))
    return errors


def _record_user(request: Plain, user: UserInfo) -> None:
    """Record the authenticated user, whatever the object contains."""
    spec = request.setdefault("spec", {})
    # A client must not impersonate: what the authenticator leaves empty is removed, too.
    for field in ("uid", "extra"):
        spec.pop(field, None)
    spec.update(user.to_plain())


def _reset_status(request: Plain, _allocate: Allocator) -> None:
    request["status"] = {}


def _keep_spec(new: Plain, old: Plain) -> None:
    """Undo a change of the spec: kube-apiserver ignores it without an error."""
    new["spec"] = old["spec"]


def _date_conditions(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Write down when a condition was written and when it came, where the writer does not."""
    since: dict[tuple[object, ...], object] = {}
    for stored in items(part(old, "status"), "conditions"):
        if stored.get("lastTransitionTime"):
            since.setdefault(tuple(stored.get(key) for key in _IDENTITY), stored["lastTransitionTime"])
    for condition in items(part(new, "status"), "conditions"):
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = allocate.now()
        if not condition.get("lastTransitionTime"):
            known = since.get(tuple(condition.get(key) for key in _IDENTITY))
            condition["lastTransitionTime"] = known or allocate.now()


_IDENTITY: Final = ("type", "status")


def _prepare_status(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Keep the verdict: only the approval subresource may add or remove one, and `change_errors` refuses others."""
    after = items(part(new, "status"), "conditions")
    for verdict in VERDICTS:
        places = [index for index, item in enumerate(after) if item.get("type") == verdict]
        known = of_type(old, verdict)
        # With another number, a verdict came or went, which validation refuses.
        if len(places) == len(known):
            for index, condition in zip(places, known, strict=True):
                after[index] = dict(condition)
    if after:
        new["status"]["conditions"] = after
    _date_conditions(new, old, allocate)


def _merge_conditions(new: Plain, old: Plain) -> Plain:
    """``certificatesigningrequests/approval``: the conditions."""
    # Only the conditions are taken: an approver must not issue the certificate by this way.
    status = {**part(old, "status")}
    status.pop("conditions", None)
    if conditions := part(new, "status").get("conditions"):
        status["conditions"] = conditions
    return {**old, "metadata": new["metadata"], "status": status}


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        record_user=_record_user,
        prepare_create=_reset_status,
        prepare_update=_keep_spec,
        validate_create=request_errors,
        prepare_status=_prepare_status,
        validate_status=partial(change_errors, decides=False),
    ),
    subresources={
        "approval": SubresourceBehavior(
            merge=_merge_conditions,
            hooks=StrategyHooks(prepare_status=_date_conditions, validate_status=partial(change_errors, decides=True)),
        )
    },
)
