"""Authorization: what a user may do.

From the bottom up: `authorizer` (what decides), `always_allow`, `requests` (the attributes and refusals of requests).
"""
