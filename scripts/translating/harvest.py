"""All that is to be translated, once each."""

from __future__ import annotations

from pathlib import Path

from blender_ik_addon.translations.catalogue import SENTENCE

from .interface import interface_entries
from .sources import SAYING, Entry, source_entries


def harvest(package: Path) -> dict[tuple[str, str], str]:
    """Return where each text of the registered extension comes from, by context and text.

    Args:
        package: Its folder.
    """
    found: dict[tuple[str, str], str] = {}
    shown = [each for each in interface_entries(package.name) if _has_words(each)]
    written = [each for each in source_entries(package) if _has_words(each)]
    labels = {each.text for each in (*shown, *written) if each.context != SENTENCE}
    for each in (*shown, *written):
        # Names and tooltips of choices stand in the sources as well.
        is_said = each.context == SENTENCE and each.place in SAYING
        if is_said or each.context != SENTENCE or each.text not in labels:
            found.setdefault((each.context, each.text), each.place)
    return found


def _has_words(entry: Entry) -> bool:
    return any(character.isalpha() for character in entry.text)
