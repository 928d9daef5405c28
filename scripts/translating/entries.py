"""One thing to translate."""

from __future__ import annotations

from typing import NamedTuple


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
