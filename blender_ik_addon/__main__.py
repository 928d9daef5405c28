"""The command line of Blender as a Python module: ``python -m blender_ik_addon FILE.blend ...``."""

from __future__ import annotations

import os
import shutil
import sys
import traceback


def main() -> int:
    """Register the extension, and run a command on a file; return the exit code."""
    import bpy

    from . import register
    from .cli.program import run

    if not hasattr(bpy.types.Object, "chain_ik"):
        # It is not installed as well.
        register()
    prog = f"{os.path.basename(sys.executable)} -m {__package__}"
    code = run(sys.argv[1:], prog, takes_file=True)
    shutil.rmtree(bpy.app.tempdir, ignore_errors=True)
    return code


if __name__ == "__main__":
    exit_code = 1
    try:
        exit_code = main()
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        # The 4.2 module crashes at the normal end, and 4.5 can hang there.
        os._exit(exit_code)
