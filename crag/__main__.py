"""Entry point of `python -m crag`. Ctrl-C ends it quietly at any moment, even while modules are loading."""

import sys
from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        from crag.cli.main import main

        return main(arguments)
    except KeyboardInterrupt:
        if "--json" in arguments:
            print('{"error": {"code": "stopped", "message": "Stopped."}}')
        else:
            print("Stopped.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
