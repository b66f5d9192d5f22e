"""Quotas: what objects use of them, and whether a request fits.

From the bottom up: `quota` (a stored quota), `scopes` (which objects it is about), `evaluators` (what an object uses;
`pods`, `claims` and `services` measure more than a count), `registry` (the evaluator of each resource), `decision`
(whether a request fits, and the usage afterwards), `ledger` (the usage of all objects).
"""
