"""Events of events.k8s.io."""
