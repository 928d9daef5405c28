"""The sentences that chains may say: where the sources have them, and what brings them about."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import bpy

from tests.blender.rig.test_rig_bad_input import make_scene

PACKAGE = Path(__file__).resolve().parents[3] / "blender_ik_addon"
# Its texts are lists of words that names of bones are made of.
WORDS = PACKAGE / "rig" / "anatomy" / "bone_names.py"
SOURCES = (
    *sorted(set((PACKAGE / "rig").rglob("*.py")) - {WORDS}),
    PACKAGE / "properties" / "status.py",
    # What of the core reaches people; the rest is checked before the core is asked.
    PACKAGE / "core" / "kinematics" / "task.py",
)
# Shorter texts are names of properties, of units and the like.
FEWEST_WORDS = 3
Step = Callable[[Any], object]
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?: (?:µm|mm|cm|m|km)\b)?")


def nothing(_scene: Any) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Said:
    """A sentence, and when it is said.

    Attributes:
        sentence: The whole status, with # for a number or a distance.
        breaks: Gives the reason to say it.
        mends: Takes the reason away.
        prepares: What else has to be so, before.
        makes: Returns the rig.
        who: Returns the settings of the chain that says it.
    """

    sentence: str
    breaks: Step
    mends: Step
    prepares: Step = nothing
    makes: Callable[[], Any] = make_scene
    who: Callable[[Any], bpy.types.PropertyGroup] = field(default=lambda scene: scene.chain)


def told(status: str) -> str:
    """Return a status with # for numbers, but for those in names."""
    return NUMBER.sub("#", status)


@cache
def templates() -> dict[str, str]:
    """Return the texts of the sources that chains may say, {} for what differs, and where."""
    return {
        text: path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        for text in texts(path.read_text(encoding="utf-8"))
    }


def texts(source: str) -> Iterator[str]:
    """Yield the texts of some words in a source, but for docstrings."""
    tree = ast.parse(source)
    passed = {id(node) for node in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            passed.update(id(part) for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        text = text_of(node)
        if id(node) not in passed and len(text.split()) >= FEWEST_WORDS:
            yield text


def docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the texts that stand by themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def text_of(node: ast.AST) -> str:
    """Return the text that a node of a source is; empty for others."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
    return ""


def is_made_of(sentence: str, template: str) -> bool:
    """Tell whether a sentence is what a template makes, or holds that."""
    parts = [re.escape(part) for part in told(template).split("{}")]
    return re.search(".*".join(parts), sentence) is not None
