"""``python -m benchmarks.recovery``."""

from benchmarks.recovery.benchmark import main

if __name__ == "__main__":
    main()
