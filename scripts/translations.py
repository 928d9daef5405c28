"""Update the translation files from the texts that the extension shows.

    python3 scripts/translations.py                 all languages; print how many are missing
    python3 scripts/translations.py --add ru_RU     with a new one, by Blender's code for it

New texts get an empty entry; texts that are no longer shown are removed.
"""

from __future__ import annotations

import sys

import environment

if __name__ == "__main__":
    sys.exit(environment.run_in("bpy-5.2", "-m", "translating.harvest", *sys.argv[1:]))
