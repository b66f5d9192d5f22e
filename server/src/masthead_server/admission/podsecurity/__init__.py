"""The Pod Security Standards as pure decisions.

From the bottom up: `policy` (levels, versions and the labels of a namespace), `pod_fields` (what the checks read),
`baseline` and `restricted` (one function per check and version), `evaluation` (the checks of a level and version).
"""
