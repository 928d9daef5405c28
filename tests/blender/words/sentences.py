"""All sentences that an animator can see: those of the sources, and those that the docs explain."""

import re
from functools import cache
from pathlib import Path

from blender_ik_addon.translations.catalogue import SENTENCE
from blender_ik_addon.translations.sentences import (
    SentenceTranslator,
    make_translator,
    placeholders,
)
from scripts.translating.harvest import harvest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "blender_ik_addon"
PAGE = ROOT / "docs" / "troubleshooting.md"
# Shorter ones are words of menus, units and the like, which many texts hold.
FEWEST_WORDS = 3


@cache
def wanted() -> dict[tuple[str, str], str]:
    """Return what is to be translated, and where it comes from."""
    return harvest(PACKAGE)


@cache
def sentences() -> dict[str, str]:
    """Return the sentences of some words, with ... for what differs, and where they come from."""
    found = {
        re.sub(r"\{\w+\}", "...", text): place
        for (context, text), place in wanted().items()
        if context == SENTENCE
    }
    return {
        text.replace("{{", "{").replace("}}", "}"): place
        for text, place in found.items()
        if len(text.replace("...", "").split()) >= FEWEST_WORDS
    }


def is_made_of(text: str, template: str) -> bool:
    """Tell whether a text is what a template with ... makes, or holds that."""
    return re.search(".*".join(map(re.escape, template.split("..."))), text, re.DOTALL) is not None


@cache
def rows() -> dict[str, list[str]]:
    """Return the first columns of the tables of the page on troubles, by section."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        section.splitlines()[0]: re.findall(r"^\| `(.+?)` \|", section, re.MULTILINE)
        for section in sections
    }


@cache
def shouting() -> SentenceTranslator:
    """Return a language that says all fixed words in capitals."""

    def loud(template: str) -> str:
        parts = re.split(r"(\{\w+\})", template)
        return "".join(part if placeholders(part) else part.upper() for part in parts)

    return make_translator({key: loud(key[1]) for key in wanted()})


# Units, names of the scenes, of what creature files hold, and of Python.
STAY = r"[µm]m|cm|km|Limb\.\d|Right|comfort|mass|stiffness|gravity|joints|name|Expecting value"


def untranslated(sentence: str) -> list[str]:
    """Return the words of a sentence that no translation could say."""
    said = shouting().translate(sentence)
    return re.findall(r"[a-z]{2,}", re.sub(rf"'[^']*'|\b(?:{STAY})\b", "", said))
