"""Tables as Markdown, with aligned columns for terminals."""

from __future__ import annotations

from collections.abc import Sequence


def make_table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Return a table; the first ``texts`` columns are texts, all others are numbers."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.ljust(width) if i < texts else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths))
        ]
        return f"| {' | '.join(cells)} |"

    rule = "|".join(
        "-" * (width + 1) + ("-" if i < texts else ":") for i, width in enumerate(widths)
    )
    return "\n".join((line(head), f"|{rule}|", *map(line, rows)))
