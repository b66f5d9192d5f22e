"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: the plugins that call webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from masthead_server.admission.matching import is_admission_configuration
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.webhooks.configurations import WebhookConfigurations
from masthead_server.admission.webhooks.mutating import admit_by_webhooks
from masthead_server.admission.webhooks.validating import validate_by_webhooks

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource

__all__ = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"]


class _WebhookPlugin(AdmissionPlugin):
    """Calls the webhooks of all configurations of one kind."""

    table: ClassVar[str]
    """The table of the configurations."""

    def __init__(self, cluster: ClusterState) -> None:
        super().__init__(cluster)
        self.configurations = WebhookConfigurations(cluster, self.table)

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether webhooks may decide: about everything but the configuration of admission."""
        del operation, subresource
        return not is_admission_configuration(served)


class MutatingAdmissionWebhook(_WebhookPlugin):
    """Calls the webhooks of MutatingWebhookConfigurations."""

    name = "MutatingAdmissionWebhook"
    table = "admissionregistration.k8s.io/mutatingwebhookconfigurations"

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Have webhooks change the object, or refuse the request."""
        await admit_by_webhooks(self.cluster, self.configurations.webhooks, attributes)


class ValidatingAdmissionWebhook(_WebhookPlugin):
    """Calls the webhooks of ValidatingWebhookConfigurations."""

    name = "ValidatingAdmissionWebhook"
    table = "admissionregistration.k8s.io/validatingwebhookconfigurations"

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Have webhooks refuse the request."""
        await validate_by_webhooks(self.cluster, self.configurations.webhooks, attributes)
