"""LeaseCandidates."""
