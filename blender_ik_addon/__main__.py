"""The command line of Blender as a Python module: ``python -m blender_ik_addon FILE.blend ...``."""

from __future__ import annotations

import os
import shutil
import sys
import traceback


def main() -> int:
    """Register the extension and run a command on a file; return the exit code."""
    import bpy

    from . import register
    from .cli.program import run

    if not hasattr(bpy.types.Object, "chain_ik"):
        # Blender has not registered it as an installed extension.
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
        # At a normal exit the 4.2 module crashes, and 4.5 can hang.
        os._exit(exit_code)
