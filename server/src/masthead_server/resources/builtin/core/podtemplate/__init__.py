"""PodTemplates."""
