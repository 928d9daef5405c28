"""docs/troubleshooting.md: all that the panel Status can say stands there, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.blender.words.sentences import is_made_of, templates, told
from tests.blender.words.test_sentences import NO_SENTENCES, SAID

PAGE = Path(__file__).resolve().parents[3] / "docs" / "troubleshooting.md"
# What buttons report, and never the status.
REPORTS = (
    "rig/anatomy/bone_names.py",
    "rig/anatomy/limb",
    "rig/keying/",
    "rig/clips/",
    "rig/comparing/compared.py",
    "rig/comparing/comparing.py",
    "rig/tools/converting.py",
    "rig/tools/control_bones.py",
    "rig/controls/control_spaces.py",
    "rig/controls/foot_roll.py",
    "rig/tools/pole_angles.py",
    "rig/comparing/trial.py",
)
# Shorter templates, such as "{}: {} off", would make anything.
FEWEST_WORDS = 4
BAKE = "What *Bake Chains* reports"


def quoted() -> dict[str, list[str]]:
    """Return the first columns of the tables, by section."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        section.splitlines()[0]: re.findall(r"^\| `(.+?)` \|", section, re.MULTILINE)
        for section in sections
    }


def statuses() -> list[str]:
    return [text for title, texts in quoted().items() if title != BAKE for text in texts]


def test_every_sentence_of_the_status_is_explained():
    shown = {text for text, place in templates().items() if not place.startswith(REPORTS)}
    assert len(shown) > 80
    entries = [told(entry) for entry in statuses()]
    missing = [
        template
        for template in shown - NO_SENTENCES
        if not any(is_made_of(entry, template) for entry in entries)
    ]
    assert not missing, f"give them a row in {PAGE.name}"


def test_every_status_that_the_tests_bring_about_has_its_row():
    rows = [".*".join(re.escape(part) for part in told(row).split("...")) for row in statuses()]
    missing = {
        case.sentence
        for case in SAID.values()
        if not any(re.fullmatch(row, case.sentence) for row in rows)
    }
    assert not missing, f"give them a row in {PAGE.name}"


def matches(entry: str, sentence: str) -> bool:
    """Tell whether an entry is a sentence, or what a template of one makes."""
    written = ".*".join(re.escape(part) for part in entry.split("..."))
    if re.fullmatch(written, sentence):
        return True
    parts = sentence.split("{}")
    is_telling = len("".join(parts).split()) >= FEWEST_WORDS
    made = ".+".join(re.escape(part) for part in parts)
    return is_telling and re.fullmatch(made, entry) is not None


@pytest.mark.parametrize("title", quoted())
def test_what_is_explained_can_be_said(title):
    known = [told(text) for text in (*(case.sentence for case in SAID.values()), *templates())]
    wrong = [
        entry
        for entry in quoted()[title]
        if not any(matches(told(entry.removeprefix("Not solved: ")), text) for text in known)
        and not any(matches(told(entry), text) for text in known)
    ]
    assert not wrong
