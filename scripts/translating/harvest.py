"""Collection of all texts to translate, from the registered extension and from its sources.

It also writes the files with the translations, in the gettext format.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import bpy
from bl_ui.utils import PresetPanel

import blender_ik_addon
from blender_ik_addon.core.model.message import WORD_CHOICES, Message
from blender_ik_addon.translations import catalogue
from blender_ik_addon.translations.catalogue import LABEL, OPERATOR, SENTENCE
from scripts.common.blender_process import list_types, run


class Entry(NamedTuple):
    """A text to translate, English with {placeholders}, and its place in the code.

    The context is one of Blender's, or the special context of sentences. A message is certainly a
    sentence; other texts in the sources may be labels.
    """

    context: str
    text: str
    place: str
    is_message: bool = False


# Methods of a layout whose texts have the context of an operator.
_OPERATORS = {"operator", "operator_enum", "operator_menu_enum", "operator_menu_hold"}
_LAYOUT_WORDS = {"text", "heading"}
# Arguments of properties, whose texts the registered classes provide.
_PROPERTY_WORDS = {"name", "description"}

# File of the core whose messages users see; other input is checked before calls of the core.
_CORE = ("core/kinematics/task.py",)
LAYERS = ("rig", "properties", "preferences", "operators", "panels", "overlay", "gizmos")
"""The layers whose texts users see."""
# Files with names of bones and limbs, which are not translated.
_NAMES = ("rig/anatomy/bone_names.py", "rig/anatomy/limbs.py")
# A single word is an identifier, unless it is a message.
_MIN_WORDS = 2

NO_SENTENCES = {
    *("Chain IK Anchor", "Chain IK Compare", "Chain IK Controls"),
    # Settings by their names in scripts.
    *("influence", "mute"),
    # A name that Blender gives to a group of curves.
    "Object Transforms",
}
"""Texts that look like sentences, but are names in a file."""
SHOWN_BASES = "Operator Panel Menu UIList PropertyGroup AddonPreferences".split()
NAME_DESCRIPTION = bpy.types.PropertyGroup.bl_rna.properties["name"].description
"""Blender's description of every name, which it translates itself."""
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
    """Return the place of each text of the registered extension, by context and text."""
    places: dict[tuple[str, str], str] = {}
    entries = (*_interface_entries(package.name), *source_entries(package))
    entries = [entry for entry in entries if any(map(str.isalpha, entry.text))]
    labels = {entry.text for entry in entries if entry.context != SENTENCE}
    for entry in entries:
        # Skip names and tooltips of enum items, which the sources contain as well.
        if entry.is_message or entry.context != SENTENCE or entry.text not in labels:
            places.setdefault((entry.context, entry.text), entry.place)
    return places


def write_catalogue(
    path: Path, places: Mapping[tuple[str, str], str], words: Mapping[tuple[str, str], str]
) -> None:
    """Write the file of a language in the order of ``places`` of texts in the code."""
    parts = [_HEADER.format(language=path.stem)]
    for (context, text), place in places.items():
        fields = {"msgctxt": context, "msgid": text, "msgstr": words.get((context, text), "")}
        lines = [
            f"{key} {json.dumps(value, ensure_ascii=False)}\n"
            for key, value in fields.items()
            if value != LABEL or key != "msgctxt"
        ]
        parts.append("".join((f"#: {place}\n", *lines)))
    path.write_text("\n".join(parts), encoding="utf-8")


def _interface_entries(package: str) -> Iterator[Entry]:
    """Yield the texts that the registered classes of a package show."""
    for base in SHOWN_BASES:
        classes = list_types(getattr(bpy.types, base), f"{package}.")
        for shown in sorted(classes, key=lambda cls: (cls.__module__, cls.__name__)):
            # The label of a panel of presets is the last preset's name or a text of Blender.
            if not issubclass(shown, PresetPanel):
                yield from _entries_of(shown)


def _entries_of(shown: Any) -> Iterator[Entry]:
    """Yield the texts of a class and of its properties."""
    name, rna = shown.__name__, shown.bl_rna
    if issubclass(shown, bpy.types.Operator):
        module, _, operator = shown.bl_idname.partition(".")
        rna = getattr(getattr(bpy.ops, module), operator).get_rna_type()
        yield Entry(OPERATOR, rna.name, name)
        yield Entry(LABEL, rna.description, name)
    else:
        context = getattr(shown, "bl_translation_context", None) or LABEL
        yield Entry(context, getattr(shown, "bl_label", None) or "", name)
    package = shown.__module__.partition(".")[0]
    classes = [cls for cls in shown.__mro__ if cls.__module__.partition(".")[0] == package]
    annotated = {key for cls in classes for key in vars(cls).get("__annotations__", {})}
    for prop in rna.properties:
        if prop.identifier in annotated and not prop.is_hidden:
            yield from _entries_of_property(prop, f"{name}.{prop.identifier}")


def _entries_of_property(shown: Any, place: str) -> Iterator[Entry]:
    if shown.name == shown.identifier:
        # Groups and lists have no label of their own.
        return
    context = shown.translation_context or LABEL
    yield Entry(context, shown.name, place)
    if shown.description != NAME_DESCRIPTION:
        yield Entry(LABEL, shown.description, place)
    if shown.type == "ENUM":
        for item in shown.enum_items_static:
            yield Entry(context, item.name, f"{place}.{item.identifier}")
            yield Entry(LABEL, item.description, f"{place}.{item.identifier}")


def source_entries(package: Path) -> Iterator[Entry]:
    """Yield texts and sentences in the sources of the package; some of them more than once."""
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).as_posix()
        if place in _CORE or (place.startswith(LAYERS) and not place.startswith(_NAMES)):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from _layout_entries(tree, place)
            yield from _sentences(tree, place)


def _layout_entries(tree: ast.Module, place: str) -> Iterator[Entry]:
    """Yield the literal texts in arguments of layouts, for example both sides of an ``or``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            context = OPERATOR if node.func.attr in _OPERATORS else LABEL
            words = [word.value for word in node.keywords if word.arg in _LAYOUT_WORDS]
            # A call of ``translate`` returns a sentence.
            shown = [word for word in words if not isinstance(word, ast.Call)]
            for part in (part for word in shown for part in ast.walk(word)):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield Entry(context, part.value, place)


def _sentences(tree: ast.Module, place: str) -> Iterator[Entry]:
    """Yield messages and fixed sentences."""
    skipped, messages = find_skipped(tree), _find_messages(tree)
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.Constant):
            continue
        text, is_message = str(node.value), id(node) in messages
        if isinstance(node.value, str) and is_sentence(text, 1 if is_message else _MIN_WORDS):
            for sentence in _expand_choices(text):
                yield Entry(SENTENCE, sentence, place, is_message)


def _find_messages(tree: ast.Module) -> set[int]:
    """Return the ids of the texts in the first arguments of messages."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    arguments = [call.args[0] for call in calls if ast.unparse(call.func) == "Message"]
    return {id(part) for argument in arguments for part in ast.walk(argument)}


def find_skipped(tree: ast.Module) -> set[int]:
    """Return the ids of nodes that are not sentences, by their position in the code."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        inner: list[ast.AST] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner = [node.value]
        elif isinstance(node, ast.JoinedStr):
            inner = [part for part in ast.walk(node) if part is not node]
        elif isinstance(node, ast.keyword) and node.arg in _PROPERTY_WORDS | _LAYOUT_WORDS:
            # A layout shows the result of ``translate``, whose argument is a sentence.
            inner = [] if isinstance(node.value, ast.Call) else list(ast.walk(node.value))
        elif isinstance(node, ast.Assign):
            names = (target.id for target in node.targets if isinstance(target, ast.Name))
            inner = list(ast.walk(node)) if any(name.startswith("bl_") for name in names) else []
        skipped.update(map(id, inner))
    return skipped


def is_sentence(text: str, min_words: int = _MIN_WORDS) -> bool:
    """Return whether a text is for people: lowercase words, and no code."""
    if text in NO_SENTENCES:
        return False
    fixed = re.sub(r"\{\w+\}", "{}", text)
    # Texts with placeholders of loggers are for the console.
    is_code = re.search(r"[_\\]|[a-z]\.[a-z]|%[sd(]", fixed) is not None
    has_word = re.search(r"(?<![\w'])[A-Za-z]?[a-z]{2,}", fixed.replace("{}", " ")) is not None
    return has_word and not is_code and len(fixed.split()) >= min_words


def _expand_choices(template: str) -> Iterator[str]:
    """Yield a template with each combination of words for its placeholders in `WORD_CHOICES`."""
    names = [name for name in WORD_CHOICES if f"{{{name}}}" in template]
    for words in product(*(WORD_CHOICES[name] for name in names)):
        yield Message(template, **dict(zip(names, words, strict=True))).template


def main() -> None:
    """Update the file of each language, and print the number of missing texts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--add", action="append", default=[], metavar="LANGUAGE")
    added = parser.parse_args().add
    blender_ik_addon.register()
    places = harvest(Path(blender_ik_addon.__file__).parent)
    for language in sorted({*catalogue.languages(), *added}):
        path = catalogue.path_of(language)
        words = catalogue.translations_of(language) if path.is_file() else {}
        write_catalogue(path, places, words)
        removed = {key: translation for key, translation in words.items() if key not in places}
        for (context, text), translation in removed.items():
            print(f"{language}: no longer said: [{context}] {text} | {translation}")
        missing = sum(not words.get(key) for key in places)
        print(f"{language}: {len(places)} texts, {missing} missing, {len(removed)} gone")


if __name__ == "__main__":
    run(main)
