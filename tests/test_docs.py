"""The documentation: its links work on GitHub and on the site, and it is complete."""

import re
from pathlib import Path

import pytest

from blender_ik_addon import core

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md")))
# One screen of GitHub.
MOST_LINES_OF_README = 45
# Bytes: pages must load fast, and a clone be small. Pictures for other sites have other limits.
LARGEST_PICTURE = 200_000
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """Return the links of a page to files of this checkout, images too."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [link for link in LINK.findall(text) if "://" not in link and "mailto:" not in link]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.strip().lower()) for title in titles]
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_are_not_dead(page: Path):
    dead = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        other = (page.parent / name).resolve() if name else page
        is_page = other.suffix == ".md"
        if not other.exists() or (anchor and is_page and anchor not in anchors(other)):
            dead.append(link)
    assert not dead


def test_tests_and_scripts_that_pages_and_sources_name_exist():
    sources = [*(ROOT / "blender_ik_addon").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
    for path in (*PAGES, *sources):
        # A name may continue in the next line of a docstring or a comment.
        text = re.sub(r"/\n\s*(?:# )?", "/", path.read_text(encoding="utf-8"))
        names = re.findall(r"\b(?:tests|scripts)/[\w/]+\.py", text)
        assert not [name for name in names if not (ROOT / name).exists()], path


def test_every_picture_is_shown_and_none_is_large():
    shown = {(page.parent / link).resolve() for page in PAGES for link in links(page)}
    pictures = [path for path in DOCS.rglob("*") if path.suffix in {".png", ".gif", ".svg"}]
    assert len(pictures) > 10
    assert not [path.name for path in pictures if path not in shown]
    # The sites prescribe the sizes of pictures of a release.
    sizes = {path.name: path.stat().st_size for path in pictures if path.parent.name == "images"}
    assert not {name: size for name, size in sizes.items() if size > LARGEST_PICTURE}


def test_every_page_is_reached_from_the_readme():
    reached, queue = set(), [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in reached:
            continue
        reached.add(page)
        linked = [(page.parent / link.partition("#")[0]).resolve() for link in links(page)]
        queue += [other for other in linked if other.suffix == ".md" and other.is_file()]
    # The site starts with another page.
    assert set(PAGES) - reached <= {DOCS / "index.md"}


def test_the_readme_is_one_screen():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES_OF_README


def test_all_public_names_of_the_core_are_in_its_reference():
    text = (DOCS / "reference_core.md").read_text(encoding="utf-8")
    described = re.findall(r"^\.\. auto\w+:: (\w+)$", text, re.MULTILINE)
    assert sorted(described) == sorted(core.__all__)


def test_every_solver_has_its_page_with_formula_source_and_figure():
    for solver in core.Solver:
        page = DOCS / "solvers" / f"{solver.lower()}.md"
        text = page.read_text(encoding="utf-8")
        for part in ("**What it is.**", "**Use it for**", "**Do not use it**", "## Formula"):
            assert part in text, (page.name, part)
        assert "$$" in text, page.name
        assert "## Source" in text, page.name
        assert f"(../images/solver_{solver.lower()}.png)" in text, page.name


def test_pages_name_the_size_of_the_download_as_the_script_does():
    script = (ROOT / "scripts" / "environment.py").read_text(encoding="utf-8")
    (size,) = re.findall(r'"bpy-5.2": Environment\(.*"(\d+ MB)"', script)
    for page, count in ((ROOT / "README.md", 2), (DOCS / "testing.md", 1)):
        found = re.findall(r"\d+ MB", page.read_text(encoding="utf-8"))
        assert found == [size] * count, page.name
