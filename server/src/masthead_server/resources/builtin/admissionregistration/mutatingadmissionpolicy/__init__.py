"""MutatingAdmissionPolicies."""
