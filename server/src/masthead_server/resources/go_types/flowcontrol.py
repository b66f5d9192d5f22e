"""Go's types of the group flowcontrol; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
ExemptPriorityLevelConfiguration lendablePercent:* nominalConcurrencyShares:*
FlowDistinguisherMethod type:FlowDistinguisherMethodType
FlowSchemaCondition lastTransitionTime! status:ConditionStatus type:FlowSchemaConditionType
LimitResponse type:LimitResponseType
LimitedPriorityLevelConfiguration borrowingLimitPercent:* lendablePercent:* nominalConcurrencyShares:*!
NonResourcePolicyRule nonResourceURLs! verbs!
PolicyRulesWithSubjects subjects!
PriorityLevelConfigurationCondition lastTransitionTime! status:ConditionStatus
    type:PriorityLevelConfigurationConditionType
PriorityLevelConfigurationSpec type:PriorityLevelEnablement
ResourcePolicyRule apiGroups! namespaces! resources! verbs!
Subject kind:SubjectKind
""",
}
