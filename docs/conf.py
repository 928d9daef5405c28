"""How Sphinx makes the site of the documentation; `scripts/build_docs.py` runs it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The pages on scripting are made from the docstrings of the core, and run their examples on it.
sys.path.insert(0, str(ROOT))

manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")

project = "Chain IK"
author = "the developers of Chain IK"
release = version = re.search(r'^version = "(.+)"', manifest, re.MULTILINE)[1]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["dollarmath"]
# Links such as `limits.md#slides` work here as they do on GitHub.
myst_heading_anchors = 4
autodoc_default_options = {"member-order": "bysource", "undoc-members": False}
# Shapes and units say more than types do, and stand in the words.
autodoc_typehints = "none"
# Attributes of records are a list, not entries of their own beside those of the members.
napoleon_use_ivar = True
napoleon_attr_annotations = False
# Whatever is not found is a warning.
nitpicky = True
trim_doctest_flags = True
doctest_test_doctest_blocks = ""

html_theme = "furo"
html_title = f"Chain IK {version}"
html_copy_source = False
html_show_sphinx = False
exclude_patterns = ["Thumbs.db", ".DS_Store"]
