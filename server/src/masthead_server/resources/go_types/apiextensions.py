"""Go's types of the group apiextensions; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
CustomResourceConversion strategy:ConversionStrategyType
CustomResourceDefinitionCondition lastTransitionTime! status:ConditionStatus
    type:CustomResourceDefinitionConditionType
CustomResourceDefinitionSpec scope:ResourceScope versions!
CustomResourceDefinitionStatus conditions! storedVersions!
CustomResourceDefinitionVersion deprecationWarning:*
CustomResourceSubresourceScale labelSelectorPath:*
JSONSchemaProps $ref:* $schema:JSONSchemaURL additionalItems:JSONSchemaPropsOrBool
    additionalProperties:JSONSchemaPropsOrBool default:JSON definitions:JSONSchemaDefinitions
    dependencies:JSONSchemaDependencies enum:[]JSON example:JSON items:JSONSchemaPropsOrArray maxItems:*
    maxLength:* maxProperties:* maximum:* minItems:* minLength:* minProperties:* minimum:* multipleOf:*
    x-kubernetes-list-type:* x-kubernetes-map-type:* x-kubernetes-preserve-unknown-fields:*
    x-kubernetes-validations:ValidationRules
ServiceReference path:* port:*
ValidationRule optionalOldSelf:* reason:*FieldValueErrorReason
WebhookClientConfig url:*
WebhookConversion conversionReviewVersions!
""",
}
