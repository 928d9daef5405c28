"""Check whether this commit can be released: one line a check, exit code 1 if one fails.

    python3 scripts/release.py                     all but the tests
    python3 scripts/release.py --tests             and run the tests, thoroughly
    python3 scripts/release.py --tests-passed      they have passed on this commit already

It builds dist/chain_ik-<version>.zip, which is what people get; the tests install it in every
Blender. docs/releasing.md says what is left to do by hand.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable

import environment
from common.console import ROOT
from common.python_finder import UnavailableError
from release import rules

PYTHON = (3, 11)  # reads TOML


class Checklist:
    """Says how checks have ended, and counts what is wrong."""

    def __init__(self) -> None:
        self.failed = 0

    def add(self, name: str, check: Callable[..., list[str]], *arguments: object) -> bool:
        """Make a check, print its line, and return whether it holds."""
        try:
            faults = check(*arguments)
        except (OSError, KeyError, SyntaxError, subprocess.SubprocessError) as error:
            faults = [f"{type(error).__name__}: {error}"]
        except (UnavailableError, environment.InstallError) as error:
            faults = [str(error)]
        self.failed += bool(faults)
        print(
            f"{'FAILED' if faults else 'ok    '}  {name}", *faults, sep="\n          ", flush=True
        )
        return not faults


def build() -> list[str]:
    """Build the zip with Blender's own builder, which also validates it."""
    command = [str(environment.ensure("bpy-5.2")), str(ROOT / "scripts" / "build_extension.py")]
    process = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return [] if process.returncode == 0 else process.stdout.splitlines()[-5:]


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def check_tree() -> list[str]:
    """Check that what is built is what is in version control."""
    changed = git("status", "--porcelain")
    return [f"Commit or remove this first: {', '.join(changed[:5])}"] if changed else []


def check_code(files: list[str]) -> list[str]:
    """Check all code of the package."""
    faults = []
    for name in files:
        if name.startswith(rules.PACKAGE) and name.endswith(".py"):
            faults += rules.check_source(name[len(rules.PACKAGE) :], read(name))
    return faults


def check_tests(options: argparse.Namespace) -> list[str]:
    """Run the tests if that is requested."""
    if options.tests_passed:
        return []
    if not options.tests:
        return ["Nobody ran the tests: use --tests, or --tests-passed if they passed here before."]
    code = subprocess.call([sys.executable, str(ROOT / "scripts" / "test.py"), "--thorough"])
    return [] if code == 0 else ["The tests fail."]


def read(name: str) -> str:
    """Return the text of a file of the checkout."""
    return (ROOT / name).read_text(encoding="utf-8")


def run(options: argparse.Namespace) -> int:
    """Go through the list, and return how many checks have failed."""
    import tomllib

    checks, files = Checklist(), git("ls-files")
    manifest = tomllib.loads(read("blender_manifest.toml"))
    zip_path = ROOT / "dist" / f"{manifest['id']}-{manifest['version']}.zip"
    print(f"Chain IK {manifest['version']}\n")
    checks.add("version, name, licence", rules.check_manifest, manifest, read("LICENSE"))
    changes = read("CHANGELOG.md")
    checks.add("newest section of CHANGELOG", rules.check_changelog, manifest, changes)
    checks.add("version in documents", rules.check_documents, manifest, ROOT, files)
    checks.add("nothing that reviewers refuse", check_code, files)
    checks.add("icon, featured image, screenshots", rules.check_pictures, ROOT)
    checks.add("nothing that is not committed", check_tree)
    if checks.add("zip, built and validated", build):
        checks.add("zip is small and holds the package", rules.check_zip, zip_path, files)
    checks.add("tests", check_tests, options)
    print(f"\n{checks.failed or 'No'} check{'' if checks.failed == 1 else 's'} failed.")
    return checks.failed


def main() -> int:
    """Read the arguments; start again on a newer Python where this one is too old."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tests", action="store_true", help="run them")
    parser.add_argument("--tests-passed", action="store_true", help="they have passed already")
    options = parser.parse_args()
    if sys.version_info < PYTHON:
        python = environment.ensure("core-3.11")
        return subprocess.call([str(python), __file__, *sys.argv[1:]])
    return 1 if run(options) else 0


if __name__ == "__main__":
    sys.exit(main())
