"""``python -m benchmarks.decode``."""

from benchmarks.decode.benchmark import main

if __name__ == "__main__":
    main()
