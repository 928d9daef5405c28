"""Tables as Markdown that is aligned for terminals, too."""

from __future__ import annotations

from collections.abc import Sequence

NOTHING = "-"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Return a table; so many of its columns are texts, all others are numbers."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if i < texts else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths))
        ]
        return f"| {' | '.join(padded)} |"

    rule = "|".join(
        "-" * (width + 2) if i < texts else "-" * (width + 1) + ":"
        for i, width in enumerate(widths)
    )
    return "\n".join((line(head), f"|{rule}|", *map(line, rows)))


def short(number: float | None) -> str:
    """Return a number to three digits, not as a power of ten: 1240, 0.0273."""
    return NOTHING if number is None else f"{float(f'{number:.3g}'):g}"


def verdict(is_met: bool | None) -> str:
    """Return whether a goal is met, in a word."""
    return {None: NOTHING, True: "yes", False: "NO"}[is_met]
