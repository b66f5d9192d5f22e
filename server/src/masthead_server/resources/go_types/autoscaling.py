"""Go's types of the group autoscaling; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
HorizontalPodAutoscalerSpec minReplicas:* targetCPUUtilizationPercentage:*
HorizontalPodAutoscalerStatus currentCPUUtilizationPercentage:* observedGeneration:*
ScaleSpec replicas?
""",
    "v2": """
ContainerResourceMetricSource name:v1.ResourceName
ContainerResourceMetricStatus name:v1.ResourceName
HPAScalingPolicy type:HPAScalingPolicyType
HPAScalingRules selectPolicy:*ScalingPolicySelect stabilizationWindowSeconds:*
HorizontalPodAutoscalerCondition lastTransitionTime! status:v1.ConditionStatus
    type:HorizontalPodAutoscalerConditionType
HorizontalPodAutoscalerSpec minReplicas:*
HorizontalPodAutoscalerStatus currentMetrics! observedGeneration:*
MetricSpec type:MetricSourceType
MetricStatus type:MetricSourceType
MetricTarget averageUtilization:* type:MetricTargetType
MetricValueStatus averageUtilization:*
ResourceMetricSource name:v1.ResourceName
ResourceMetricStatus name:v1.ResourceName
""",
}
