"""Validating webhooks: they may refuse a request, and are called at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead_server.admission.webhooks.call import CallError, Invocation, call_admission_webhook, match_webhook
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.matching import Match
    from masthead_server.admission.webhooks.call import EncodedObjects
    from masthead_server.admission.webhooks.webhook import AdmissionWebhook
    from masthead_server.cluster import ClusterState

__all__ = ["validate_by_webhooks"]

_FAILED_OPEN: Final = "failed-open.validating.webhook.admission.k8s.io/round_0_index_"


async def validate_by_webhooks(
    cluster: ClusterState, webhooks: Sequence[AdmissionWebhook], attributes: AdmissionAttributes
) -> None:
    """Call every webhook that a request matches, and refuse the request with the first error.

    Args:
        cluster: The cluster state.
        webhooks: All validating webhooks.
        attributes: The request.

    Raises:
        StatusFailure: If a webhook denies the request, or fails and its failure policy does not ignore that.
    """
    encoded: dict[Match, EncodedObjects] = {}
    matches = [await match_webhook(cluster, webhook, attributes, encoded) for webhook in webhooks]
    invocations = [invocation for invocation in matches if invocation is not None]
    if not invocations:
        return
    errors: list[StatusFailure] = []
    calls = (_call(cluster, index, invocation, attributes, errors) for index, invocation in enumerate(invocations))
    await asyncio.gather(*calls)
    if errors:
        raise errors[0]


async def _call(
    cluster: ClusterState,
    index: int,
    invocation: Invocation,
    attributes: AdmissionAttributes,
    errors: list[StatusFailure],
) -> None:
    """Call one webhook; the refusal of the request is added to the errors.

    The order of the errors is that of the ends of the calls: kube-apiserver returns the first one, too.
    """
    try:
        await call_admission_webhook(invocation, attributes, cluster.new_uid(), is_mutating=False)
    except CallError as error:
        if not invocation.webhook.ignores_failures:
            errors.append(error.to_failure())
            return
        attributes.annotations[f"{_FAILED_OPEN}{index}"] = invocation.webhook.name
    except StatusFailure as failure:
        errors.append(failure)
