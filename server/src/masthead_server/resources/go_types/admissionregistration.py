"""Go's types of the group admissionregistration; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
MatchResources matchPolicy:*MatchPolicyType
MutatingAdmissionPolicySpec failurePolicy:*FailurePolicyType reinvocationPolicy:ReinvocationPolicyType
MutatingWebhook admissionReviewVersions! failurePolicy:*FailurePolicyType matchPolicy:*MatchPolicyType
    reinvocationPolicy:*ReinvocationPolicyType sideEffects:*SideEffectClass! timeoutSeconds:*
Mutation patchType:PatchType
NamedRuleWithOperations operations:[]OperationType scope:*ScopeType RuleWithOperations.Rule(apiGroups
    apiVersions resources scope) RuleWithOperations(operations)
ParamRef parameterNotFoundAction:*ParameterNotFoundActionType
RuleWithOperations operations:[]OperationType scope:*ScopeType Rule(apiGroups apiVersions resources
    scope)
ServiceReference path:* port:*
ValidatingAdmissionPolicyBindingSpec validationActions:[]ValidationAction
ValidatingAdmissionPolicySpec failurePolicy:*FailurePolicyType
ValidatingWebhook admissionReviewVersions! failurePolicy:*FailurePolicyType matchPolicy:*MatchPolicyType
    sideEffects:*SideEffectClass! timeoutSeconds:*
Validation reason:*StatusReason
WebhookClientConfig url:*
""",
    "v1alpha1": """
MatchResources matchPolicy:*MatchPolicyType
MutatingAdmissionPolicySpec failurePolicy:*FailurePolicyType reinvocationPolicy:v1.ReinvocationPolicyType
Mutation patchType:PatchType
NamedRuleWithOperations operations:[]v1.OperationType scope:*v1.ScopeType
    RuleWithOperations.Rule(apiGroups apiVersions resources scope) RuleWithOperations(operations)
ParamRef parameterNotFoundAction:*ParameterNotFoundActionType
""",
    "v1beta1": """
MatchResources matchPolicy:*MatchPolicyType
MutatingAdmissionPolicySpec failurePolicy:*FailurePolicyType reinvocationPolicy:v1.ReinvocationPolicyType
Mutation patchType:PatchType
NamedRuleWithOperations operations:[]v1.OperationType scope:*v1.ScopeType
    RuleWithOperations.Rule(apiGroups apiVersions resources scope) RuleWithOperations(operations)
ParamRef parameterNotFoundAction:*ParameterNotFoundActionType
""",
}
