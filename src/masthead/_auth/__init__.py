"""Authentication: tokens, passwords, client certificates, exec plugins and OpenID Connect.

| module | contents |
|---|---|
| `credentials` | the interface of credentials to the layers above |
| `tokens` | anonymous, bearer token, basic authentication, token file |
| `exec`, `execcredential`, `process` | exec credential plugins: the plugin, its protocol, its subprocess |
| `oidc` | an OpenID Connect token and its renewal |
| `tls`, `pem` | TLS contexts that are reloaded when certificates rotate |
| `files`, `renewal`, `redaction` | files that change, one renewal at a time, no secret in a message |
"""
