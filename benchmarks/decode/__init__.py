"""Time and memory per pod of a long list."""
