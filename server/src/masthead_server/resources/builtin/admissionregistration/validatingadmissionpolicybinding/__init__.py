"""ValidatingAdmissionPolicyBindings."""
