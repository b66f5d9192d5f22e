"""What the benchmarks share: fresh processes, figures, tables, contenders, pods and a plain HTTP client."""
