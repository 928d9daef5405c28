"""Bring the files with the translations up to date with what the extension shows and says.

    python3 scripts/translations.py                 all languages, and say what is missing
    python3 scripts/translations.py --add ru_RU     with a new one, as Blender calls it

What is new gets an empty entry, what is no longer said goes.
"""

from __future__ import annotations

import sys

import environment

if __name__ == "__main__":
    sys.exit(environment.run_in("bpy-5.2", "-m", "translating.harvest", *sys.argv[1:]))
