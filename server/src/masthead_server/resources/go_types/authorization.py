"""Go's types of the group authorization; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
NonResourceRule verbs!
ResourceRule verbs!
SubjectAccessReviewSpec extra:map[string]ExtraValue
SubjectRulesReviewStatus nonResourceRules! resourceRules!
""",
}
