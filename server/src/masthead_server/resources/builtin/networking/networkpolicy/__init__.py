"""NetworkPolicies."""
