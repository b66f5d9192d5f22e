"""``python -m benchmarks.policies``."""

from benchmarks.policies.benchmark import main

if __name__ == "__main__":
    main()
