"""All sentences that an animator can see, in the sources and on the page that explains them."""

import re
from functools import cache
from pathlib import Path

from blender_ik_addon.translations import translate_by
from blender_ik_addon.translations.catalogue import SENTENCE
from scripts.translating.harvest import harvest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "blender_ik_addon"
PAGE = ROOT / "docs" / "troubleshooting.md"
# Fewest words of a sentence; shorter texts (menus, units) are parts of many other texts.
MIN_WORDS = 3


@cache
def texts() -> dict[tuple[str, str], str]:
    """Return all texts to translate (context, text), with the files that they come from."""
    return harvest(PACKAGE)


@cache
def sentences() -> dict[str, str]:
    """Return all sentences, with "..." for their fields, and the files that they come from."""
    templates = {
        re.sub(r"\{\w+\}", "...", text): place
        for (context, text), place in texts().items()
        if context == SENTENCE
    }
    return {
        text: place
        for text, place in templates.items()
        if len(text.replace("...", "").split()) >= MIN_WORDS
    }


def contains(text: str, template: str) -> bool:
    """Return whether a text contains a match of a template with "..."."""
    return re.search(".*".join(map(re.escape, template.split("..."))), text, re.DOTALL) is not None


@cache
def rows() -> dict[str, list[str]]:
    """Return the first columns of the tables on the troubleshooting page, by section."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        section.splitlines()[0]: re.findall(r"^\| `(.+?)` \|", section, re.MULTILINE)
        for section in sections
    }


@cache
def in_capitals() -> dict[str, str]:
    """Return all texts in a language that writes all fixed words in capitals, by English text."""

    def of_template(template: str) -> str:
        parts = re.split(r"(\{\w+\})", template)
        return "".join(part if part.startswith("{") else part.upper() for part in parts)

    return {text: of_template(text) for _, text in texts()}


# Units, names in the scenes, keys of creature files, words of Python: never translated.
FIXED = r"[µm]m|cm|km|Limb\.\d|Right|comfort|mass|stiffness|gravity|joints|name|Expecting value"


def untranslated(message: str) -> list[str]:
    """Return the words of a message that no translation can replace."""
    return _words_of(translate_by(in_capitals(), message))


def unsaid(row: str) -> list[str]:
    """Return the words of a row of the page that are in no sentence, wherever it has values."""
    templates = [text.removesuffix(".") for context, text in texts() if context == SENTENCE]
    for template in sorted(templates, key=len, reverse=True):
        pattern = "(.+?)".join(map(re.escape, re.split(r"\{\w+\}", template)))
        row = re.sub(rf"{pattern}(?!\w)", lambda match: " ".join(("...", *match.groups())), row)
    return _words_of(row)


def _words_of(text: str) -> list[str]:
    """Return the lowercase words outside quotes that a translation should have replaced."""
    return re.findall(r"[a-z]{2,}", re.sub(rf"'[^']*'|\b(?:{FIXED})\b", "", text))
