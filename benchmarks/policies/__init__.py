"""What admission policies cost a request: see `benchmarks.policies.benchmark`."""
