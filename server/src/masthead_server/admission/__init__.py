"""Admission: what may change or refuse a write, a deletion or a connection after its client is authorized.

From the bottom up: `attributes` (what a request is about), `matching` (rules and selectors of webhooks and policies),
`reviewer`, `evaluation` and `conditions` (their expressions), `refusals` (texts), `plugin` (what a plugin is), `chain`
(all enabled plugins, in kube-apiserver's order), `lookup` and `default_classes` (objects that plugins depend on),
`namespaced_objects` (a cache of configurations), `podsecurity/`, `limit_ranges` and `quota/` (decisions of three
plugins), `tolerations`, `pod_secrets`, `pod_references`, `node_labels`, `node_tokens` and `signers` (rules that plugins
share or consist of), `plugins/` (one module per built-in plugin), `webhooks/` and `policies/` (those of users),
`registry` (names, order and defaults of plugins).
"""
