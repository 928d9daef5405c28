"""The release checklist finds what would make a release bad; each fault is made here once."""

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
PACKAGE = "blender_ik_addon/"


@pytest.fixture(scope="module")
def release():
    """scripts/release.py and the package beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        import release
        import release.archive
        import release.pictures
        import release.source
        import release.texts

        yield release


def tracked() -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_this_manifest_is_good(release):
    texts = release.texts
    assert texts.check_version(MANIFEST) == []
    assert texts.check_name(MANIFEST) == []
    assert texts.check_licence(MANIFEST, (ROOT / "LICENSE").read_text("utf-8")) == []


def test_no_document_here_tells_another_version(release):
    assert release.texts.check_documents(MANIFEST, ROOT, tracked()) == []


@pytest.mark.parametrize("version", ["1.0", "1.0.0-beta", "one"])
def test_a_version_that_is_not_three_numbers(release, version):
    (fault,) = release.texts.check_version({**MANIFEST, "version": version})
    assert version in fault


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Changelog\n\n## Unreleased\n\n- New.\n", "CHANGELOG has no section 1.0.0"),
        ("## 1.1.0 (2027-01-01)\n\n## 1.0.0 (2026-12-01)\n", "is 1.1.0, and the manifest says"),
        ("## 1.0.0 (unreleased)\n", "has no date"),
        ("## 1.0.0\n", "has no date"),
    ],
)
def test_a_change_log_that_does_not_fit(release, text, said):
    (fault,) = release.texts.check_changelog({"version": "1.0.0"}, text)
    assert said in fault


@pytest.mark.parametrize("heading", ["## 1.0.0 (2026-12-01)", "## 1.0.0 - 2026-12-01"])
def test_a_change_log_that_fits(release, heading):
    text = f"# Changelog\n\n{heading}\n\n- New.\n\n## 0.1.0 (2026-01-01)\n"
    assert release.texts.check_changelog({"version": "1.0.0"}, text) == []


@pytest.mark.parametrize("told", ["dist/chain_ik-9.8.7.zip", "Chain IK 9.8.7"])
def test_a_document_with_another_version(release, tmp_path, told):
    (tmp_path / "README.md").write_text(f"Install {told} now.\n")
    (fault,) = release.texts.check_documents(MANIFEST, tmp_path, ["README.md"])
    assert fault == f"README.md tells version 9.8.7, the manifest {VERSION}."


def test_what_was_measured_may_tell_the_version_of_then(release, tmp_path):
    (tmp_path / "docs" / "benchmark").mkdir(parents=True)
    (tmp_path / "docs" / "benchmark" / "table.md").write_text("Chain IK 0.0.1 in Blender 5.2\n")
    found = release.texts.check_documents(MANIFEST, tmp_path, ["docs/benchmark/table.md"])
    assert found == []


def test_a_name_that_belongs_to_somebody_else(release):
    (fault,) = release.texts.check_name({**MANIFEST, "name": "Blender IK"})
    assert "Blender" in fault


def test_another_licence(release):
    good = (ROOT / "LICENSE").read_text("utf-8")
    assert release.texts.check_licence({**MANIFEST, "license": ["SPDX:MIT"]}, good)
    assert release.texts.check_licence(MANIFEST, "MIT License\n")
    assert release.texts.check_licence({**MANIFEST, "copyright": []}, good)


def test_the_package_does_nothing_that_reviewers_refuse(release):
    files = [name for name in tracked() if name.startswith(PACKAGE) and name.endswith(".py")]
    assert len(files) > 100
    for name in files:
        text = (ROOT / name).read_text("utf-8")
        assert release.source.check(name.removeprefix(PACKAGE), text) == []


def test_every_exception_for_reviewers_is_still_needed(release):
    for name, used in release.source.ALLOWED:
        assert used in (ROOT / PACKAGE / name).read_text("utf-8")


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
def test_code_that_reviewers_refuse(release, code, used):
    assert f"uses {used}." in " ".join(release.source.check("panels.py", code))


def test_harmless_code_passes(release):
    code = "import re\nimport sys\nfrom . import subprocess\nre.compile('x')\nsys.exit()"
    assert release.source.check("panels.py", code) == []


@pytest.fixture
def zipped(tmp_path):
    """A zip like the one that is built."""
    path = tmp_path / "chain_ik.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in tracked():
            if name.startswith(PACKAGE):
                archive.writestr(name.removeprefix(PACKAGE), "")
        for name in ("blender_manifest.toml", "LICENSE"):
            archive.writestr(name, "")
    return path


def test_a_zip_of_just_the_package(release, zipped):
    assert release.archive.check_contents(zipped, tracked()) == []
    assert release.archive.check_size(zipped) == []


@pytest.mark.parametrize("extra", ["tests/test_x.py", "core/__pycache__/a.pyc", "notes.txt"])
def test_a_zip_with_an_extra_file(release, zipped, extra):
    with zipfile.ZipFile(zipped, "a") as archive:
        archive.writestr(extra, "")
    (fault,) = release.archive.check_contents(zipped, tracked())
    assert fault == f"The zip holds {extra}, which is not part of the package."


def test_a_zip_that_lacks_a_file(release, zipped):
    files = [*tracked(), f"{PACKAGE}core/more.py"]
    assert release.archive.check_contents(zipped, files) == ["The zip lacks core/more.py."]


def test_a_zip_that_is_too_large(release, tmp_path):
    path = tmp_path / "large.zip"
    path.write_bytes(bytes(release.archive.LARGEST + 1))
    (fault,) = release.archive.check_size(path)
    assert str(release.archive.LARGEST) in fault


def test_the_pictures_are_there_with_their_sizes(release):
    assert release.pictures.check(ROOT) == []


def test_pictures_that_the_site_refuses(release, tmp_path):
    pictures = release.pictures
    for name in (*pictures.SIZES, *pictures.SCREENSHOTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert pictures.check(tmp_path) == []
    shutil.copy(ROOT / pictures.FEATURED, tmp_path / pictures.ICON)
    assert "1920 x 1080 pixels instead of 256 x 256" in pictures.check(tmp_path)[0]
    (tmp_path / pictures.ICON).write_bytes(b"GIF89a" + bytes(30))
    assert pictures.check(tmp_path) == [f"{pictures.ICON} is not a PNG file."]
    (tmp_path / pictures.ICON).unlink()
    assert pictures.check(tmp_path)[0].startswith(f"There is no {pictures.ICON}")
    shutil.copy(ROOT / pictures.ICON, tmp_path / pictures.ICON)
    shutil.copy(ROOT / pictures.ICON, tmp_path / pictures.SCREENSHOTS[0])
    assert "256 pixels wide" in pictures.check(tmp_path)[0]


@pytest.fixture
def checklist(monkeypatch):
    """scripts/release.py itself; the package of the same name is found first."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import importlib.util

    spec = importlib.util.spec_from_file_location(
        "chain_ik_release", ROOT / "scripts" / "release.py"
    )
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
    assert "ok      good\n" in said
    assert "FAILED  bad\n" in said
    assert "Mend this." in said
    assert "FileNotFoundError" in said


def test_nobody_releases_without_tests(checklist):
    import argparse

    asked = argparse.Namespace(tests=False, tests_passed=False)
    (fault,) = checklist.check_tests(asked)
    assert "--tests" in fault
    assert checklist.check_tests(argparse.Namespace(tests=False, tests_passed=True)) == []


def test_what_is_not_committed_is_told(checklist, monkeypatch):
    monkeypatch.setattr(checklist, "git", lambda *arguments: [" M README.md"])
    (fault,) = checklist.check_tree()
    assert "README.md" in fault
    monkeypatch.setattr(checklist, "git", lambda *arguments: [])
    assert checklist.check_tree() == []
