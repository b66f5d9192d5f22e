"""Authentication: who sends a request.

From the bottom up: `signing_keys` (the key of service-account tokens), `jwt` (the form of tokens), `impersonation` (the
user that a request acts as), `service_accounts` (their tokens), `token_file`, `tokens` (all kinds of tokens),
`authenticator` (the credentials of a request).
"""
