"""All that is to be translated: what Blender shows of the registered extension, and the sources.

And the files with the translations, in the gettext format.
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
from scripts.common.blender_process import registered, run


class Entry(NamedTuple):
    """One thing to translate, English with {placeholders}, and where it comes from.

    The context is Blender's; sentences have one of their own.
    """

    context: str
    text: str
    place: str


# Calls of a layout whose words have the context of the operator that they draw.
_OPERATORS = {"operator", "operator_enum", "operator_menu_enum", "operator_menu_hold"}
_LAYOUT_WORDS = {"text", "heading"}
# What is shown and no sentence, as its own class tells of it.
_OF_PROPERTIES = {"name", "description"}

# What reaches people of the core; the rest is checked before the core is asked.
_CORE = ("core/kinematics/task.py",)
_LAYERS = ("rig", "properties", "preferences", "operators", "panels", "overlay", "gizmos")
# Names of bones and limbs, which are not translated.
_NAMES = ("rig/anatomy/bone_names.py", "rig/anatomy/limbs.py")
SAYING = ("rig/tools/wording.py", "properties/status.py")
"""Every word of these is said, also those that labels have too."""
# Elsewhere a single word is a name for the program.
_LEAST_WORDS = 2

NO_SENTENCES = {
    *("Chain IK Anchor", "Chain IK Compare", "Chain IK Controls"),
    *("WGT-Chain IK {shape}", "{name} Baked"),
    # Settings, by the names that scripts use.
    *("influence", "mute"),
    # A number with its unit, which is the same everywhere.
    "{milliseconds} ms",
    # A group of curves of Blender's.
    "Object Transforms",
}
"""What looks like a sentence, but is the name of something in the file."""
PARTS = ("slide", "{bone} slide", "cone", "{bone} cone")
"""What is said inside of sentences, and too short to be found."""
CHOICES = {
    "word": ("target", "pole"),
    "way": ("lengthen", "shorten"),
    "body": ("chain", "tree"),
}
"""Placeholders that stand for few words: each makes a sentence of its own."""
BASES = "Operator Panel Menu UIList PropertyGroup AddonPreferences".split()
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
        classes = registered(getattr(bpy.types, base), f"{package}.")
        for shown in sorted(classes, key=lambda each: (each.__module__, each.__name__)):
            # Blender gives a panel of presets the name of the last one as its label, else its own.
            if not issubclass(shown, PresetPanel):
                yield from _entries_of(shown)


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


def source_entries(package: Path) -> Iterator[Entry]:
    """Yield what the sources of the package show and say; some of it more than once."""
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).as_posix()
        if place in _CORE or (place.startswith(_LAYERS) and not place.startswith(_NAMES)):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from _layout_entries(tree, place)
            yield from _sentences(tree, place)
    for part in PARTS:
        yield Entry(SENTENCE, part, "rig/posing/outcome.py")


def _layout_entries(tree: ast.Module, place: str) -> Iterator[Entry]:
    """Yield what is written out in arguments of layouts, such as both sides of an ``or``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            context = OPERATOR if node.func.attr in _OPERATORS else LABEL
            words = [word.value for word in node.keywords if word.arg in _LAYOUT_WORDS]
            # What a call of ``translate`` gives is a sentence.
            shown = [word for word in words if not isinstance(word, ast.Call)]
            for each in (part for word in shown for part in ast.walk(word)):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield Entry(context, each.value, place)


def _sentences(tree: ast.Module, place: str) -> Iterator[Entry]:
    passed = _not_said(tree)
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) in passed or not (is_text or isinstance(node, ast.JoinedStr)):
            continue
        # Parts of sentences begin with what joins them.
        text = re.sub(r"^(?:; |\. )", "", _template(node))
        if text not in NO_SENTENCES and _is_sentence(text, 1 if place in SAYING else _LEAST_WORDS):
            for sentence in _choices(text):
                yield Entry(SENTENCE, sentence, place)


def _not_said(tree: ast.Module) -> set[int]:
    """Return the nodes that are no sentences by where they stand."""
    passed: set[int] = set()
    for node in ast.walk(tree):
        inner: list[ast.AST] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner = [node.value]
        elif isinstance(node, ast.JoinedStr):
            inner = [part for part in ast.walk(node) if part is not node]
        elif isinstance(node, ast.keyword) and node.arg in _OF_PROPERTIES | _LAYOUT_WORDS:
            # What a layout shows of a sentence, its call of ``translate`` has translated.
            inner = [] if isinstance(node.value, ast.Call) else list(ast.walk(node.value))
        elif isinstance(node, ast.Assign):
            names = (each.id for each in node.targets if isinstance(each, ast.Name))
            inner = list(ast.walk(node)) if any(name.startswith("bl_") for name in names) else []
        passed.update(map(id, inner))
    return passed


def _is_sentence(text: str, least_words: int) -> bool:
    """Tell whether a text is for people: words with small letters, and nothing of a program."""
    fixed = re.sub(r"\{\w+\}", "{}", text)
    # What loggers fill in is for the console.
    is_code = re.search(r"[_\\]|[a-z]\.[a-z]|%[sd(]", fixed) is not None
    has_word = re.search(r"(?<![\w'])[A-Za-z]?[a-z]{2,}", fixed.replace("{}", " ")) is not None
    return has_word and not is_code and len(fixed.split()) >= least_words


def _template(node: ast.expr) -> str:
    """Return a text with what differs as {placeholders}."""
    if isinstance(node, ast.Constant):
        # Its braces are for ``format`` where they have a name in them.
        text = str(node.value)
        return text if re.search(r"\{\w+\}", text) else _escaped(text)
    assert isinstance(node, ast.JoinedStr)
    text, known = "", dict[str, str]()
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            # The same name for the same, another one for another.
            written, name = ast.unparse(part.value), _name(part.value)
            count = sum(each.rstrip("0123456789") == name for each in known.values())
            text += f"{{{known.setdefault(written, f'{name}{count + 1}' if count else name)}}}"
        elif isinstance(part, ast.Constant):
            text += _escaped(str(part.value))
    return text


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _name(value: ast.AST) -> str:
    """Return a word for what differs, as the source calls it."""
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


def _choices(template: str) -> Iterator[str]:
    """Yield a template once for each choice of those of its placeholders that have some."""
    names = [name for name in CHOICES if f"{{{name}}}" in template]
    for chosen in product(*(CHOICES[name] for name in names)):
        text = template
        for name, word in zip(names, chosen):
            text = text.replace(f"{{{name}}}", word)
        yield text


def main() -> None:
    """Write the file of each language anew, and print how far it is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--add", action="append", default=[], metavar="LANGUAGE")
    added = parser.parse_args().add
    blender_ik_addon.register()
    wanted = harvest(Path(blender_ik_addon.__file__).parent)
    for language in sorted({*catalogue.languages(), *added}):
        path = catalogue.path_of(language)
        words = catalogue.translations_of(language) if path.is_file() else {}
        write_words(path, wanted, words)
        gone = {key: says for key, says in words.items() if key not in wanted}
        for (context, text), says in gone.items():
            print(f"{language}: no longer said: [{context}] {text} | {says}")
        missing = sum(not words.get(key) for key in wanted)
        print(f"{language}: {len(wanted)} texts, {missing} missing, {len(gone)} gone")


if __name__ == "__main__":
    run(main)
