"""Generators of what this repository commits as generated code. None of this is part of the wheel."""
