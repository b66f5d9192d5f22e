"""ReplicaSets."""
