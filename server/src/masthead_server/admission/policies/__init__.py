"""Admission policies: ValidatingAdmissionPolicies and MutatingAdmissionPolicies, evaluated in the server.

From the bottom up: `scope` (what policies decide about), `params` (parameters of bindings), `policy` (a policy and its
bindings, compiled), `policy_index` (all policies, current after each write), `declared_types` and `type_checking`
(warnings about expressions), `validating`, `patches`, `mutating` (the plugins).
"""
