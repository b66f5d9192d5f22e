"""Go's types of the group batch; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
CronJobSpec concurrencyPolicy:ConcurrencyPolicy failedJobsHistoryLimit:* startingDeadlineSeconds:*
    successfulJobsHistoryLimit:* suspend:* timeZone:*
JobCondition lastProbeTime! lastTransitionTime! status:ConditionStatus type:JobConditionType
JobSpec activeDeadlineSeconds:* backoffLimit:* backoffLimitPerIndex:* completionMode:*CompletionMode
    completions:* managedBy:* manualSelector:* maxFailedIndexes:* parallelism:*
    podReplacementPolicy:*PodReplacementPolicy suspend:* ttlSecondsAfterFinished:*
JobStatus failedIndexes:* ready:* terminating:*
PodFailurePolicy rules!
PodFailurePolicyOnExitCodesRequirement containerName:* operator:PodFailurePolicyOnExitCodesOperator
    values!
PodFailurePolicyOnPodConditionsPattern status:ConditionStatus type:PodConditionType
PodFailurePolicyRule action:PodFailurePolicyAction
SuccessPolicy rules!
SuccessPolicyRule succeededCount:* succeededIndexes:*
UncountedTerminatedPods failed:[]types.UID succeeded:[]types.UID
""",
}
