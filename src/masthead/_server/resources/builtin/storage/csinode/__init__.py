"""CSINodes."""
