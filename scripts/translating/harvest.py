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
from blender_ik_addon.translations import catalogue
from blender_ik_addon.translations.catalogue import LABEL, OPERATOR, SENTENCE
from scripts.common.blender_process import list_types, run


class Entry(NamedTuple):
    """A text to translate, English with {placeholders}, and its place in the code.

    The context is one of Blender's, or the special context of sentences.
    """

    context: str
    text: str
    place: str


# Methods of a layout whose texts have the context of an operator.
_OPERATORS = {"operator", "operator_enum", "operator_menu_enum", "operator_menu_hold"}
_LAYOUT_WORDS = {"text", "heading"}
# Arguments of properties, whose texts the registered classes provide.
_PROPERTY_WORDS = {"name", "description"}

# File of the core whose messages users see; other input is checked before calls of the core.
_CORE = ("core/kinematics/task.py",)
_LAYERS = ("rig", "properties", "preferences", "operators", "panels", "overlay", "gizmos")
# Files with names of bones and limbs, which are not translated.
_NAMES = ("rig/anatomy/bone_names.py", "rig/anatomy/limbs.py")
MESSAGES = ("rig/tools/wording.py", "properties/status.py")
"""Files whose words are all parts of sentences, even if labels contain them as well."""
# Elsewhere a single word is an identifier.
_MIN_WORDS = 2

NO_SENTENCES = {
    *("Chain IK Anchor", "Chain IK Compare", "Chain IK Controls"),
    *("WGT-Chain IK {shape}", "{name} Baked"),
    # Settings by their names in scripts.
    *("influence", "mute"),
    # A number with its unit, which is the same in all languages.
    "{milliseconds} ms",
    # A name that Blender gives to a group of curves.
    "Object Transforms",
}
"""Texts that look like sentences, but are names in a file."""
PARTS = ("slide", "{bone} slide", "cone", "{bone} cone")
"""Parts of sentences that are too short to be found."""
CHOICES = {
    "word": ("target", "pole"),
    "way": ("lengthen", "shorten"),
    "body": ("chain", "tree"),
}
"""Placeholders with a fixed list of words: each word gives a separate sentence."""
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
        is_sentence_file = entry.context == SENTENCE and entry.place in MESSAGES
        if is_sentence_file or entry.context != SENTENCE or entry.text not in labels:
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
        if place in _CORE or (place.startswith(_LAYERS) and not place.startswith(_NAMES)):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from _layout_entries(tree, place)
            yield from _sentences(tree, place)
    for part in PARTS:
        yield Entry(SENTENCE, part, "rig/posing/outcome.py")


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
    skipped = _find_skipped(tree)
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) in skipped or not (is_text or isinstance(node, ast.JoinedStr)):
            continue
        # Remove a separator from the start of a part of a sentence.
        text = re.sub(r"^(?:; |\. )", "", _template(node))
        if text not in NO_SENTENCES and _is_sentence(text, 1 if place in MESSAGES else _MIN_WORDS):
            for sentence in _expand_choices(text):
                yield Entry(SENTENCE, sentence, place)


def _find_skipped(tree: ast.Module) -> set[int]:
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


def _is_sentence(text: str, min_words: int) -> bool:
    """Return whether a text is for people: lowercase words, and no code."""
    fixed = re.sub(r"\{\w+\}", "{}", text)
    # Texts with placeholders of loggers are for the console.
    is_code = re.search(r"[_\\]|[a-z]\.[a-z]|%[sd(]", fixed) is not None
    has_word = re.search(r"(?<![\w'])[A-Za-z]?[a-z]{2,}", fixed.replace("{}", " ")) is not None
    return has_word and not is_code and len(fixed.split()) >= min_words


def _template(node: ast.expr) -> str:
    """Return a text with {placeholders} for its expressions."""
    if isinstance(node, ast.Constant):
        # Braces around a name are placeholders for ``format``.
        text = str(node.value)
        return text if re.search(r"\{\w+\}", text) else _escape(text)
    assert isinstance(node, ast.JoinedStr)
    text, names = "", dict[str, str]()
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            # Equal expressions get the same name, different ones different names.
            source, name = ast.unparse(part.value), _name(part.value)
            count = sum(used.rstrip("0123456789") == name for used in names.values())
            text += f"{{{names.setdefault(source, f'{name}{count + 1}' if count else name)}}}"
        elif isinstance(part, ast.Constant):
            text += _escape(str(part.value))
    return text


def _escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _name(value: ast.AST) -> str:
    """Return the name of a placeholder from its expression."""
    if isinstance(value, ast.Name):
        return value.id.strip("_").lower()
    if isinstance(value, ast.Attribute):
        return value.attr.strip("_").removeprefix("bl_").lower()
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "len":
        return "count"
    if isinstance(value, ast.Call):
        return _name(value.args[0] if value.args else getattr(value.func, "value", value.func))
    if isinstance(value, ast.BoolOp):
        return _name(value.values[0])
    inner = getattr(value, "elt", getattr(value, "value", None))
    return _name(inner) if isinstance(inner, ast.AST) else "value"


def _expand_choices(template: str) -> Iterator[str]:
    """Yield a template with each combination of words for its placeholders in `CHOICES`."""
    names = [name for name in CHOICES if f"{{{name}}}" in template]
    for words in product(*(CHOICES[name] for name in names)):
        text = template
        for name, word in zip(names, words):
            text = text.replace(f"{{{name}}}", word)
        yield text


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
