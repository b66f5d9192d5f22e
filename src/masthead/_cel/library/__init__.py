"""The functions that rules can call: CEL's own, its extensions, and Kubernetes' libraries.

Each module declares `FUNCTIONS`; `standard_functions` has them all.
"""
