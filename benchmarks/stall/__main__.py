"""``python -m benchmarks.stall``."""

from benchmarks.stall.benchmark import main

if __name__ == "__main__":
    main()
