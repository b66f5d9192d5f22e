"""Who we are: tokens, passwords, certificates, and what keeps them from going stale.

| module | what lives there |
|---|---|
| `contract` | what the rooms above know of credentials |
| `tokens` | nobody, a token, a password, a token in a file |
| `exec`, `execcredential`, `program` | a program that prints credentials; what is said to it and by it; how it is run |
| `oidc` | an OpenID Connect token and its refresh token |
| `tls`, `pem` | what to trust and what to show in TLS, reloaded when files change |
| `files`, `renewal`, `hiding` | what the others share: watched files, one renewal at a time, no secret in a message |
"""
