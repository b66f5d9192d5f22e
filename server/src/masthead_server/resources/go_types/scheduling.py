"""Go's types of the group scheduling; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
PriorityClass preemptionPolicy:*PreemptionPolicy
""",
    "v1alpha2": """
PodGroupResourceClaim resourceClaimName:* resourceClaimTemplateName:*
PodGroupResourceClaimStatus resourceClaimName:*
PodGroupSpec disruptionMode:*DisruptionMode podGroupTemplateRef:*! priority:*
PodGroupTemplate disruptionMode:*DisruptionMode priority:* schedulingConstraints:*!
PodGroupTemplateReference workload:*!
WorkloadSpec podGroupTemplates!
""",
}
