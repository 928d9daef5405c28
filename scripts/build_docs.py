"""Build the site of the documentation from the Markdown under docs/: out/site/index.html.

    python3 scripts/build_docs.py

The site needs no other server: all that it shows, also formulas, is part of it. `scripts/test.py
--only docs` builds it with warnings as errors, and runs the examples.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from pathlib import Path

import environment
from common.console import ROOT, say, stream

SOURCE = ROOT / "docs"
SITE = ROOT / "out" / "site"
# The cache of Sphinx between runs. Sphinx warns about a page only when it reads that page.
CACHE = ROOT / "out" / "site_pages"
# The kinds of output in their order: pages, then the examples of the core, which are run.
BUILDERS = ("html", "doctest")


def build(label: str, builder: str, *, is_check: bool) -> list[str]:
    """Build one kind of output; return the faults as sentences, an empty list if there are none.

    A check reads all pages again, and a warning is an error.
    """
    python = environment.ensure("docs")
    folder = SITE if builder == "html" else CACHE / builder
    command = [str(python), "-m", "sphinx", "-q", "-b", builder, "-d", str(CACHE / "read")]
    if is_check:
        command += ["-W", "--keep-going", "-n"]
        # Only the first builder has to read the pages again: that is when Sphinx warns.
        command += ["-E"] if builder == BUILDERS[0] else []
    code, output = stream(label, [*command, str(SOURCE), str(folder)])
    if code == 0:
        # The site needs no other server.
        external = r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(?:https?:)?//'
        pages = (
            path for path in SITE.rglob("*.html") if re.search(external, path.read_text("utf-8"))
        )
        return [f"{path.name} loads something from another server." for path in sorted(pages)]
    return [line for line in output if line.strip()] or [f"Sphinx ended with exit code {code}."]


def main() -> int:
    start = time.monotonic()
    shutil.rmtree(SITE, ignore_errors=True)
    try:
        errors = build("docs", BUILDERS[0], is_check=False)
    except environment.UnavailableError as error:
        sys.exit(str(error))
    if errors:
        say("docs", *errors)
        return 1
    index = Path(os.path.relpath(SITE / "index.html"))
    print(f"written in {time.monotonic() - start:.0f} s: {index}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
