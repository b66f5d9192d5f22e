"""Go's types of the group apps; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
ControllerRevision data!
DaemonSetCondition lastTransitionTime! status:ConditionStatus type:DaemonSetConditionType
DaemonSetSpec revisionHistoryLimit:* selector:*!
DaemonSetStatus collisionCount:*
DaemonSetUpdateStrategy type:DaemonSetUpdateStrategyType
DeploymentCondition lastTransitionTime! lastUpdateTime! status:ConditionStatus
    type:DeploymentConditionType
DeploymentSpec progressDeadlineSeconds:* replicas:* revisionHistoryLimit:* selector:*!
DeploymentStatus collisionCount:* terminatingReplicas:*
DeploymentStrategy type:DeploymentStrategyType
ReplicaSetCondition lastTransitionTime! status:ConditionStatus type:ReplicaSetConditionType
ReplicaSetSpec replicas:* selector:*!
ReplicaSetStatus terminatingReplicas:*
RollingUpdateStatefulSetStrategy partition:*
StatefulSetCondition lastTransitionTime! status:ConditionStatus type:StatefulSetConditionType
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted:PersistentVolumeClaimRetentionPolicyType
    whenScaled:PersistentVolumeClaimRetentionPolicyType
StatefulSetSpec podManagementPolicy:PodManagementPolicyType replicas:* revisionHistoryLimit:* selector:*!
StatefulSetStatus collisionCount:*
StatefulSetUpdateStrategy type:StatefulSetUpdateStrategyType
""",
}
