"""``python -m benchmarks.rules``."""

from benchmarks.rules.benchmark import main

if __name__ == "__main__":
    main()
