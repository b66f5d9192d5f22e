"""The controllers of kube-controller-manager and the kubelet that API clients rely on, one module each."""
