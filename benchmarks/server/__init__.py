"""The embedded API server under load, beside kube-apiserver where that is at hand."""
