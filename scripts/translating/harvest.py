"""All that is to be translated: what Blender shows of the registered extension, and the sources.

And the files with the translations, in the gettext format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bpy
from bl_ui.utils import PresetPanel

from blender_ik_addon.translations.catalogue import LABEL, OPERATOR, SENTENCE

from .sources import SAYING, Entry, source_entries

BASES = (
    bpy.types.Operator,
    bpy.types.Panel,
    bpy.types.Menu,
    bpy.types.UIList,
    bpy.types.PropertyGroup,
    bpy.types.AddonPreferences,
)
OF_NAMES = bpy.types.PropertyGroup.bl_rna.properties["name"].description
"""Blender's own words for the name of anything, which it translates itself."""
_HEADER = """\
# Chain IK in this language; docs/translating.md tells how to mend a word.
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""


def harvest(package: Path) -> dict[tuple[str, str], str]:
    """Return where each text of the registered extension comes from, by context and text."""
    found: dict[tuple[str, str], str] = {}
    entries = (*_interface_entries(package.name), *source_entries(package))
    entries = [each for each in entries if any(map(str.isalpha, each.text))]
    labels = {each.text for each in entries if each.context != SENTENCE}
    for each in entries:
        # Names and tooltips of choices stand in the sources as well.
        is_said = each.context == SENTENCE and each.place in SAYING
        if is_said or each.context != SENTENCE or each.text not in labels:
            found.setdefault((each.context, each.text), each.place)
    return found


def write_words(
    path: Path, wanted: Mapping[tuple[str, str], str], words: Mapping[tuple[str, str], str]
) -> None:
    """Write the file of a language anew, in the order of what is wanted: places of texts."""
    parts = [_HEADER.format(language=path.stem)]
    for (context, text), place in wanted.items():
        written = {"msgctxt": context, "msgid": text, "msgstr": words.get((context, text), "")}
        lines = [
            f"{key} {json.dumps(value, ensure_ascii=False)}\n"
            for key, value in written.items()
            if value != LABEL or key != "msgctxt"
        ]
        parts.append("".join((f"#: {place}\n", *lines)))
    path.write_text("\n".join(parts), encoding="utf-8")


def _interface_entries(package: str) -> Iterator[Entry]:
    """Yield what the registered classes of a package show."""
    for base in BASES:
        for shown in sorted(subclasses(base), key=lambda each: (each.__module__, each.__name__)):
            # Blender gives a panel of presets the name of the last one as its label, else its own.
            is_ours = shown.__module__.startswith(f"{package}.") and shown.is_registered
            if is_ours and not issubclass(shown, PresetPanel):
                yield from _entries_of(shown)


def subclasses(base: type) -> set[Any]:
    own = set(base.__subclasses__())
    return own.union(*(subclasses(each) for each in own))


def _entries_of(shown: Any) -> Iterator[Entry]:
    """Yield what one class shows: its own words, and those of its properties."""
    name, rna = shown.__name__, shown.bl_rna
    if issubclass(shown, bpy.types.Operator):
        module, _, operator = shown.bl_idname.partition(".")
        rna = getattr(getattr(bpy.ops, module), operator).get_rna_type()
        yield Entry(OPERATOR, rna.name, name)
        yield Entry(LABEL, rna.description, name)
    else:
        context = getattr(shown, "bl_translation_context", None) or LABEL
        yield Entry(context, getattr(shown, "bl_label", None) or "", name)
        for attribute in ("bl_description", "bl_category"):
            yield Entry(LABEL, getattr(shown, attribute, None) or "", name)
    package = shown.__module__.partition(".")[0]
    own = [each for each in shown.__mro__ if each.__module__.partition(".")[0] == package]
    annotated = {key for each in own for key in vars(each).get("__annotations__", {})}
    for each in rna.properties:
        if each.identifier in annotated and not each.is_hidden:
            yield from _entries_of_property(each, f"{name}.{each.identifier}")


def _entries_of_property(shown: Any, place: str) -> Iterator[Entry]:
    if shown.name == shown.identifier:
        # Groups and lists, which are never shown as such.
        return
    context = shown.translation_context or LABEL
    yield Entry(context, shown.name, place)
    if shown.description != OF_NAMES:
        yield Entry(LABEL, shown.description, place)
    if shown.type == "ENUM":
        for item in shown.enum_items_static:
            yield Entry(context, item.name, f"{place}.{item.identifier}")
            yield Entry(LABEL, item.description, f"{place}.{item.identifier}")
