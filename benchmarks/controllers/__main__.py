"""``python -m benchmarks.controllers``."""

from benchmarks.controllers.benchmark import main

if __name__ == "__main__":
    main()
