"""Behavior of CertificateSigningRequests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior
from masthead_server.resources.builtin.certificates.certificatesigningrequest.validation import (
    VERDICTS,
    change_errors,
    of_type,
    request_errors,
)
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.user_info import UserInfo


def _record_user(request: Plain, user: UserInfo) -> None:
    """Write down who requests the certificate, whatever the request says of itself."""
    spec = request.setdefault("spec", {})
    for field in ("uid", "extra"):
        spec.pop(field, None)
    spec.update(user.to_plain())


def _reset_status(request: Plain, _allocate: Allocator) -> None:
    request["status"] = {}


def _keep_spec(new: Plain, old: Plain) -> None:
    """Undo a change of what is asked for: it is ignored, not refused."""
    new["spec"] = old["spec"]


def _date_conditions(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Write down when a condition was written and when it came, where the writer does not."""
    since: dict[tuple[object, ...], object] = {}
    for each in items(part(old, "status"), "conditions"):
        if each.get("lastTransitionTime"):
            since.setdefault(tuple(each.get(key) for key in _IDENTITY), each["lastTransitionTime"])
    for condition in items(part(new, "status"), "conditions"):
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = allocate.now()
        if not condition.get("lastTransitionTime"):
            known = since.get(tuple(condition.get(key) for key in _IDENTITY))
            condition["lastTransitionTime"] = known or allocate.now()


_IDENTITY: Final = ("type", "status")


def _prepare_status(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Keep the verdict as it is; it may neither come nor go by this way, and `_change_errors` says so."""
    after = items(part(new, "status"), "conditions")
    for verdict in VERDICTS:
        places = [index for index, each in enumerate(after) if each.get("type") == verdict]
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
