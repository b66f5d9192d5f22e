"""``python -m benchmarks.plugin``."""

from benchmarks.plugin.benchmark import main

if __name__ == "__main__":
    main()
