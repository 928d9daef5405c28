"""Bring the files with the translations up to date with what the extension shows and says.

    python3 scripts/translations.py                 all languages, and say what is missing
    python3 scripts/translations.py --add ru_RU     with a new one, as Blender calls it

What is new gets an empty entry, what is no longer said goes. Runs in the Python that has Blender as
a module, else in the environment bpy-5.2, which is installed if needed.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys

from common.console import ROOT

PACKAGE = ROOT / "blender_ik_addon"


def update(added: list[str]) -> None:
    """Write the file of each language anew, and print how far it is."""
    import blender_ik_addon
    from blender_ik_addon.translations import catalogue
    from translating.harvest import harvest, write_words

    blender_ik_addon.register()
    try:
        wanted = harvest(PACKAGE)
        for language in sorted({*catalogue.languages(), *added}):
            path = catalogue.path_of(language)
            words = catalogue.words_of(language) if path.is_file() else {}
            write_words(path, wanted, words)
            gone = {key: says for key, says in words.items() if key not in wanted}
            for (context, text), says in gone.items():
                print(f"{language}: no longer said: [{context}] {text} | {says}")
            missing = sum(not words.get(key) for key in wanted)
            print(f"{language}: {len(wanted)} texts, {missing} missing, {len(gone)} gone")
    finally:
        blender_ik_addon.unregister()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--add", action="append", default=[], metavar="LANGUAGE")
    options = parser.parse_args()
    if importlib.util.find_spec("bpy") is None:
        import environment

        return environment.run_in("bpy-5.2", __file__, *sys.argv[1:])
    from common import blender_process

    sys.path.append(str(ROOT))
    blender_process.run(update, options.add)


if __name__ == "__main__":
    sys.exit(main())
