"""``python -m benchmarks.record``."""

from benchmarks.record.benchmark import main

if __name__ == "__main__":
    main()
