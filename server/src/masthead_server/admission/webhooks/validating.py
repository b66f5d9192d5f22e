"""ValidatingAdmissionWebhook: webhooks that may refuse a request, all called at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead_server.admission.matching import is_admission_configuration
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.webhooks.call import CallError, Invocation, call_admission_webhook, match_webhook
from masthead_server.admission.webhooks.configurations import WebhookConfigurations
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource

__all__ = ["ValidatingAdmissionWebhook"]

_FAILED_OPEN: Final = "failed-open.validating.webhook.admission.k8s.io/round_0_index_"


class ValidatingAdmissionWebhook(AdmissionPlugin):
    """Calls the webhooks of ValidatingWebhookConfigurations."""

    name = "ValidatingAdmissionWebhook"
    configured_by = "admissionregistration.k8s.io/validatingwebhookconfigurations"
    may_wait = True

    def __init__(self, cluster: ClusterState) -> None:
        super().__init__(cluster)
        self._configurations = WebhookConfigurations(cluster, self.configured_by)

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether webhooks may decide: about everything but the configuration of admission."""
        del operation, subresource
        return not is_admission_configuration(served)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Call every webhook that the request matches, and refuse the request with the first error."""
        matches = [await match_webhook(self.cluster, webhook, attributes) for webhook in self._configurations.webhooks]
        invocations = [invocation for invocation in matches if invocation is not None]
        if not invocations:
            return
        errors: list[StatusFailure] = []
        calls = (self._call(index, invocation, attributes, errors) for index, invocation in enumerate(invocations))
        await asyncio.gather(*calls)
        if errors:
            raise errors[0]

    async def _call(
        self, index: int, invocation: Invocation, attributes: AdmissionAttributes, errors: list[StatusFailure]
    ) -> None:
        """Call one webhook; the refusal of the request is added to the errors.

        The order of the errors is that of the ends of the calls: kube-apiserver returns the first one, too.
        """
        try:
            await call_admission_webhook(invocation, attributes, self.cluster.new_uid(), is_mutating=False)
        except CallError as error:
            if not invocation.webhook.ignores_failures:
                errors.append(error.to_failure())
                return
            attributes.annotations[f"{_FAILED_OPEN}{index}"] = invocation.webhook.name
        except StatusFailure as failure:
            errors.append(failure)
