"""ValidatingAdmissionPolicies."""
