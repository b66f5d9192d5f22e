"""What validation rules cost: see `benchmarks.rules.benchmark`."""
