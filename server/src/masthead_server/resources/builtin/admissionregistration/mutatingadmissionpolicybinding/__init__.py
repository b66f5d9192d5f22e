"""MutatingAdmissionPolicyBindings."""
