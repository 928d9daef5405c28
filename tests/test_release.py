"""The release checklist finds what would make a release bad; each fault is made here once."""

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = tomllib.loads((ROOT / "blender_manifest.toml").read_text("utf-8"))
VERSION = MANIFEST["version"]
LICENCE = (ROOT / "LICENSE").read_text("utf-8")
PACKAGE = "blender_ik_addon/"


@pytest.fixture(scope="module")
def rules():
    """scripts/release/rules.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        from release import rules

        yield rules


def tracked() -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_this_checkout_is_good(rules):
    assert rules.check_manifest(MANIFEST, LICENCE) == []
    assert rules.check_documents(MANIFEST, ROOT, tracked()) == []
    assert rules.check_pictures(ROOT) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        *(({"version": version}, version) for version in ("1.0", "1.0.0-beta", "one")),
        ({"name": "Blender IK"}, "Blender"),
        ({"license": ["SPDX:MIT"]}, "GPL"),
        ({"copyright": []}, "copyright"),
    ],
)
def test_a_manifest_with_a_fault(rules, changed, said):
    (fault,) = rules.check_manifest({**MANIFEST, **changed}, LICENCE)
    assert said in fault


def test_another_licence_in_the_file(rules):
    (fault,) = rules.check_manifest(MANIFEST, "MIT License\n")
    assert "General Public License" in fault


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Changelog\n\n## Unreleased\n\n- New.\n", "CHANGELOG has no section 1.0.0"),
        ("## 1.1.0 (2027-01-01)\n\n## 1.0.0 (2026-12-01)\n", "is 1.1.0, and the manifest says"),
        ("## 1.0.0 (unreleased)\n", "has no date"),
        ("## 1.0.0\n", "has no date"),
        ("# Changelog\n\n## 1.0.0 (2026-12-01)\n\n- New.\n\n## 0.1.0 (2026-01-01)\n", ""),
        ("## 1.0.0 - 2026-12-01\n", ""),
    ],
)
def test_the_change_log(rules, text, said):
    faults = rules.check_changelog({"version": "1.0.0"}, text)
    assert len(faults) == bool(said)
    assert said in "".join(faults)


@pytest.mark.parametrize("told", ["dist/chain_ik-9.8.7.zip", "Chain IK 9.8.7"])
def test_a_document_with_another_version(rules, tmp_path, told):
    (tmp_path / "docs" / "benchmark").mkdir(parents=True)
    # What was measured may tell the version of then.
    for name in ("README.md", "docs/benchmark/table.md"):
        (tmp_path / name).write_text(f"Install {told} now.\n")
    files = ["README.md", "docs/benchmark/table.md"]
    (fault,) = rules.check_documents(MANIFEST, tmp_path, files)
    assert fault == f"README.md tells version 9.8.7, the manifest {VERSION}."


def test_the_package_does_nothing_that_reviewers_refuse(rules):
    files = [name for name in tracked() if name.startswith(PACKAGE) and name.endswith(".py")]
    assert len(files) > 100
    for name in files:
        text = (ROOT / name).read_text("utf-8")
        assert rules.check_source(name.removeprefix(PACKAGE), text) == []
    for name, used in rules.ALLOWED:
        assert used in (ROOT / PACKAGE / name).read_text("utf-8"), "this exception is not needed"


@pytest.mark.parametrize(
    ("code", "used"),
    [
        ("import sys\nsys.path.append('x')", "sys.path"),
        ("from sys import modules", "sys.modules"),
        ("import sys\ndel sys.modules['x']", "sys.modules"),
        ("import urllib.request", "urllib.request"),
        ("from urllib import request", "urllib"),
        ("from http.client import HTTPConnection", "http.client"),
        ("import socket", "socket"),
        ("import subprocess", "subprocess"),
        ("x = eval('1')", "eval"),
        ("exec('x = 1')", "exec"),
        ("open(__file__, 'w')", "__file__"),
    ],
)
def test_code_that_reviewers_refuse(rules, code, used):
    assert f"uses {used}." in " ".join(rules.check_source("panels.py", code))


def test_harmless_code_passes(rules):
    code = "import re\nimport sys\nfrom . import subprocess\nre.compile('x')\nsys.exit()"
    assert rules.check_source("panels.py", code) == []


def test_the_zip_holds_just_the_package(rules, tmp_path, monkeypatch):
    path = tmp_path / "chain_ik.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in tracked():
            if name.startswith(PACKAGE):
                archive.writestr(name.removeprefix(PACKAGE), "")
        for name in ("blender_manifest.toml", "LICENSE"):
            archive.writestr(name, "")
    assert rules.check_zip(path, tracked()) == []
    files = [*tracked(), f"{PACKAGE}core/more.py"]
    assert rules.check_zip(path, files) == ["The zip lacks core/more.py."]
    extra = ["core/__pycache__/a.pyc", "notes.txt", "tests/test_x.py"]
    with zipfile.ZipFile(path, "a") as archive:
        for name in extra:
            archive.writestr(name, "")
    faults = rules.check_zip(path, tracked())
    assert faults == [f"The zip holds {name}, which is not part of it." for name in extra]
    monkeypatch.setattr(rules, "LARGEST_ZIP", 100)
    assert "100 is the most" in rules.check_zip(path, tracked())[-1]


def test_pictures_that_the_site_refuses(rules, tmp_path):
    icon = tmp_path / rules.ICON
    for name in (*rules.SIZES, *rules.SCREENSHOTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert rules.check_pictures(tmp_path) == []
    shutil.copy(ROOT / rules.FEATURED, icon)
    assert "1920 x 1080 pixels instead of 256 x 256" in rules.check_pictures(tmp_path)[0]
    icon.write_bytes(b"GIF89a" + bytes(30))
    assert rules.check_pictures(tmp_path) == [f"{rules.ICON} is not a PNG file."]
    icon.unlink()
    assert rules.check_pictures(tmp_path)[0].startswith(f"There is no {rules.ICON}")
    shutil.copy(ROOT / rules.ICON, icon)
    shutil.copy(ROOT / rules.ICON, tmp_path / rules.SCREENSHOTS[0])
    assert "256 pixels wide" in rules.check_pictures(tmp_path)[0]


@pytest.fixture
def checklist(monkeypatch):
    """scripts/release.py itself; the package of the same name is found first."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    path = ROOT / "scripts" / "release.py"
    spec = importlib.util.spec_from_file_location("chain_ik_release", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_a_line_a_check_and_a_failure_is_counted(checklist, capsys):
    checks = checklist.Checklist()
    assert checks.add("good", list)
    assert not checks.add("bad", lambda: ["Mend this."])
    assert not checks.add("gone", Path("no such file").read_text)
    assert checks.failed == 2
    said = capsys.readouterr().out
    for line in ("ok      good\n", "FAILED  bad\n", "Mend this.", "FileNotFoundError"):
        assert line in said


def test_nobody_releases_without_tests(checklist):
    (fault,) = checklist.check_tests(argparse.Namespace(tests=False, tests_passed=False))
    assert "--tests" in fault
    assert checklist.check_tests(argparse.Namespace(tests=False, tests_passed=True)) == []


def test_what_is_not_committed_is_told(checklist, monkeypatch):
    monkeypatch.setattr(checklist, "git", lambda *arguments: [" M README.md"])
    (fault,) = checklist.check_tree()
    assert "README.md" in fault
    monkeypatch.setattr(checklist, "git", lambda *arguments: [])
    assert checklist.check_tree() == []
