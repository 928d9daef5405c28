"""What the sources say: words in layouts, and sentences with names and numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from blender_ik_addon.translations.catalogue import LABEL, OPERATOR, SENTENCE


class Entry(NamedTuple):
    """One thing to translate.

    Attributes:
        context: As Blender has it; sentences have one of their own.
        text: In English; of sentences with {placeholders}.
        place: Where it comes from, for the translator.
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
LAYOUT_CHOICES = {"axis": ("X", "Y", "Z")}


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
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        context = OPERATOR if node.func.attr in _OPERATORS else LABEL
        for word in node.keywords:
            if word.arg in _LAYOUT_WORDS:
                for text in _layout_texts(word.value):
                    yield Entry(context, text, place)


def _layout_texts(value: ast.expr) -> Iterator[str]:
    """Yield what is written out in an argument of a layout, such as both sides of an ``or``."""
    if isinstance(value, ast.JoinedStr):
        yield from _choices(_template(value), LAYOUT_CHOICES)
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, (ast.BoolOp, ast.IfExp)):
        for part in value.values if isinstance(value, ast.BoolOp) else (value.body, value.orelse):
            yield from _layout_texts(part)


def _sentences(tree: ast.Module, place: str) -> Iterator[Entry]:
    passed = _not_said(tree)
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) in passed or not (is_text or isinstance(node, ast.JoinedStr)):
            continue
        # Parts of sentences begin with what joins them.
        text = re.sub(r"^(?:; |\. )", "", _template(node))
        if text not in NO_SENTENCES and _is_sentence(text, 1 if place in SAYING else _LEAST_WORDS):
            for sentence in _choices(text, CHOICES):
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
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and _is_of_blender(node):
            inner = list(ast.walk(node))
        passed.update(map(id, inner))
    return passed


def _is_of_blender(node: ast.Assign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(each, ast.Name) and each.id.startswith("bl_") for each in targets)


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
            text += f"{{{_free_name(part.value, known)}}}"
        elif isinstance(part, ast.Constant):
            text += _escaped(str(part.value))
    return text


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _free_name(value: ast.expr, known: dict[str, str]) -> str:
    """Return the name of what differs: the same one for the same, another one for another."""
    written = ast.unparse(value)
    if written not in known:
        name = _name(value)
        count = sum(each.rstrip("0123456789") == name for each in known.values())
        known[written] = f"{name}{count + 1}" if count else name
    return known[written]


def _name(value: ast.expr) -> str:
    """Return a word for what differs, as the source calls it."""
    inner: ast.expr | None = None
    if isinstance(value, ast.Name):
        return value.id.strip("_").lower()
    if isinstance(value, ast.Attribute):
        return value.attr.strip("_").removeprefix("bl_").lower()
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name) and value.func.id == "len":
            return "count"
        is_method = isinstance(value.func, ast.Attribute)
        inner = value.args[0] if value.args else value.func.value if is_method else value.func
    elif isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        inner = value.elt
    elif isinstance(value, ast.Subscript):
        inner = value.value
    elif isinstance(value, ast.BoolOp):
        inner = value.values[0]
    return "value" if inner is None else _name(inner)


def _choices(template: str, choices: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield a template once for each choice of those of its placeholders that have some."""
    names = [name for name in choices if f"{{{name}}}" in template]
    for chosen in product(*(choices[name] for name in names)):
        text = template
        for name, word in zip(names, chosen):
            text = text.replace(f"{{{name}}}", word)
        yield text
