"""What authorization costs: see `benchmarks.authorization.benchmark`."""
