"""Go's types of the group apps; `masthead._server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
ControllerRevision data! revision:int64
DaemonSetCondition lastTransitionTime! status:ConditionStatus type:DaemonSetConditionType
DaemonSetSpec revisionHistoryLimit:* selector:*
DaemonSetStatus collisionCount:* observedGeneration:int64
DaemonSetUpdateStrategy type:DaemonSetUpdateStrategyType
DeploymentCondition lastTransitionTime! lastUpdateTime! status:ConditionStatus
    type:DeploymentConditionType
DeploymentSpec progressDeadlineSeconds:* replicas:* revisionHistoryLimit:* selector:*
DeploymentStatus collisionCount:* observedGeneration:int64 terminatingReplicas:*
DeploymentStrategy type:DeploymentStrategyType
ReplicaSetCondition lastTransitionTime! status:ConditionStatus type:ReplicaSetConditionType
ReplicaSetSpec replicas:* selector:*
ReplicaSetStatus observedGeneration:int64 terminatingReplicas:*
RollingUpdateStatefulSetStrategy partition:*
StatefulSetCondition lastTransitionTime! status:ConditionStatus type:StatefulSetConditionType
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted:PersistentVolumeClaimRetentionPolicyType
    whenScaled:PersistentVolumeClaimRetentionPolicyType
StatefulSetSpec podManagementPolicy:PodManagementPolicyType replicas:* revisionHistoryLimit:* selector:*
StatefulSetStatus collisionCount:* observedGeneration:int64
StatefulSetUpdateStrategy type:StatefulSetUpdateStrategyType
""",
}
