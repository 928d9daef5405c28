r"""Run pytest inside the full Blender application.

    blender -b --factory-startup --python-exit-code 3 \
        --python scripts/common/run_in_blender.py -- ARGS

ARGS go to pytest. `scripts/test.py` calls this and installs the folder it takes pytest from.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    r"""Run pytest from the folder made for this application's Python."""
    packages = ROOT / ".venv" / "app-{}.{}".format(*sys.version_info[:2])
    sys.path[:0] = [str(packages), str(ROOT)]
    # Blender's Python is shared with the person's own: found only after the path is set.
    import pytest

    return int(pytest.main(sys.argv[sys.argv.index("--") + 1 :]))


sys.exit(main())
