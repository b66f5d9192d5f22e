"""The controllers of kube-controller-manager and the kubelet that an API server alone lacks, one module each."""
