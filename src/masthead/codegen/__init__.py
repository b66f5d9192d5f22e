"""``python -m masthead.codegen`` generates types from OpenAPI, a live server or CRD manifests."""
