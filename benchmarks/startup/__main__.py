"""``python -m benchmarks.startup``."""

from benchmarks.startup.benchmark import main

if __name__ == "__main__":
    main()
