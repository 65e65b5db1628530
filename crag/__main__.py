"""Entry point of `python -m crag`. Ctrl-C ends it quietly at any moment, even while modules are loading."""

import gc
import os
import sys
from collections.abc import Sequence

_COLLECT_AFTER = 300_000  # objects: more than importing makes, which all stay and would be walked through in vain


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    gc.set_threshold(_COLLECT_AFTER)
    try:
        from crag.cli.main import main

        return main(arguments)
    except KeyboardInterrupt:
        if "--json" in arguments:
            print('{"error": {"code": "stopped", "message": "Stopped."}}')
        else:
            from crag.translation import _, find_terminal_language, use_language

            with use_language(find_terminal_language()):
                print(_("Stopped."), file=sys.stderr)
        return 1


if __name__ == "__main__":
    os.umask(0o077)  # what the application writes is for its user alone
    code = run(sys.argv[1:])
    if "duckdb" not in sys.modules:  # it would report what it holds as leaks
        gc.freeze()  # or exiting would look through all imports for garbage, a quarter of the time of a question
    sys.exit(code)
