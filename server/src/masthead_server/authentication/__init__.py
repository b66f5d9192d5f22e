"""Authentication: who sends a request.

From the bottom up: `impersonation` (the user that a request acts as), `authenticator` (the credentials of a request).
"""
