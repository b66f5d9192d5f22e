"""CSIDrivers."""
