"""Check whether this commit can be released: one line a check, exit code 1 if one fails.

    python3 scripts/release.py             all but the tests
    python3 scripts/release.py --tests     and run the tests, thoroughly

It builds dist/chain_ik-<version>.zip, the file that people download. The tests install it in every
Blender and look for everything that the extensions site refuses. docs/releasing.md lists the steps
to do by hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import environment
from common.console import ROOT

HEADING = re.compile(r"^## (\S+)(.*)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
PACKAGE, ROOT_FILES = "blender_ik_addon/", ("blender_manifest.toml", "LICENSE")
MAX_ZIP_BYTES = 2_000_000  # bytes: some people have slow connections


def git(*arguments: str) -> list[str]:
    """Return the lines that a git command prints."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def check_tree() -> list[str]:
    """Return a fault if the working tree differs from the last commit."""
    changed = git("status", "--porcelain")
    return [f"Commit or remove this first: {', '.join(changed[:5])}"] if changed else []


def check_changelog(version: str, text: str) -> list[str]:
    """Return a fault unless the newest section of the change log is this version's, with a date."""
    sections = dict(HEADING.findall(text))
    newest = next(iter(sections), "")
    if version not in sections:
        return [f"CHANGELOG has no section {version}: add the heading '## {version} (DATE)'."]
    if newest != version:
        return [f"The newest section of CHANGELOG is {newest}, and the manifest says {version}."]
    has_date = DATE.search(sections[version])
    return [] if has_date else [f"The section {version} of CHANGELOG has no date."]


def check_zip(path: Path, files: list[str]) -> list[str]:
    """Return faults unless a zip is small and holds exactly the package's tracked files."""
    listed = {name[len(PACKAGE) :] for name in files if name.startswith(PACKAGE)} | {*ROOT_FILES}
    with zipfile.ZipFile(path) as archive:
        zipped = {name for name in archive.namelist() if not name.endswith("/")}
    faults = [f"The zip holds {name}, which is not part of it." for name in sorted(zipped - listed)]
    faults += [f"The zip lacks {name}." for name in sorted(listed - zipped)]
    if (size := path.stat().st_size) > MAX_ZIP_BYTES:
        faults.append(f"The zip has {size} bytes, {MAX_ZIP_BYTES} is the most.")
    return faults


def run_checks(*, are_tests_run: bool) -> Iterator[tuple[str, list[str]]]:
    """Run the checks; yield the name and the faults of each."""
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    version = re.findall(r'^version = "(.*)"$', manifest, re.MULTILINE)[0]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    yield f"newest section of CHANGELOG is {version}", check_changelog(version, changes)
    yield "nothing that is not committed", check_tree()
    code = environment.run_in("bpy-5.2", ROOT / "scripts" / "build_extension.py")
    yield "zip, built and validated", [f"exit code {code}"] if code else []
    if not code:
        path = ROOT / "dist" / f"chain_ik-{version}.zip"
        yield "zip is small and holds the package", check_zip(path, git("ls-files"))
    faults = ["Nobody ran the tests: use --tests."]
    if are_tests_run:
        command = [sys.executable, str(ROOT / "scripts" / "test.py"), "--thorough"]
        code = subprocess.call(command)
        faults = [f"exit code {code}"] if code else []
    yield "tests", faults


def main() -> int:
    failed = 0
    for name, faults in run_checks(are_tests_run="--tests" in sys.argv):
        failed += bool(faults)
        verdict = "FAILED" if faults else "ok    "
        print(f"{verdict}  {name}", *faults, sep="\n          ", flush=True)
    print(f"\n{failed or 'No'} check{'' if failed == 1 else 's'} failed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
