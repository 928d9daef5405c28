"""docs/scripting.md and docs/reference_blender.md: what they show is what Blender does and has."""

import contextlib
import importlib
import io
import re
from pathlib import Path

from tests.blender.setups import rigs

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "scripting.md"
# A block of Python, and what it prints.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
ARM = ((0.0, 0.0, 1.0), (0.5, 0.05, 1.0), (1.0, 0.0, 1.0), (1.2, 0.0, 1.0))
NAMES = ("upper_arm", "forearm", "hand")


def test_examples_of_the_page_print_what_it_says():
    text = PAGE.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python") >= 6
    # What the page says its examples need.
    rigs.make_rig(ARM, names=NAMES)
    rigs.make_empty(location=(0.4, 0.3, 1.3))
    rigs.updated()
    names: dict[str, object] = {}
    for code, expected in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, PAGE.name, "exec"), names)
        assert expected, f"this example prints nothing that could be checked:\n{code}"
        lines = printed.getvalue().splitlines()
        # Blender prints the reports of operators as well.
        lines = [line for line in lines if not line.startswith(("Info: ", "Error: "))]
        assert lines == expected.splitlines(), code


def test_the_page_of_properties_and_operators_is_up_to_date(scripts):
    module = importlib.import_module("docs_reference")
    written = module.PAGE.read_text(encoding="utf-8").splitlines()
    assert module.page().splitlines() == written, "run python3 scripts/docs_reference.py"
