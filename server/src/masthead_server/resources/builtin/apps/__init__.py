"""The group apps."""
