"""Run all benchmarks or the named ones: `python -m benchmarks question start`."""

import sys
from importlib import import_module

BENCHMARKS = ("question", "pipeline", "ingest", "search", "start", "mutants", "table_questions", "watched_folder")

for name in sys.argv[1:] or BENCHMARKS:
    if name not in BENCHMARKS:
        sys.exit(f"There is no benchmark {name}; there are {', '.join(BENCHMARKS)}.")
    import_module(f"benchmarks.{name}").main()
