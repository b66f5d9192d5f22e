"""The group policy."""
