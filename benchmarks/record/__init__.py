"""What a recording costs: see `benchmarks.record.benchmark`."""
