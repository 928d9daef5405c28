"""The zip that people install: it builds, installs, works and goes away without a trace."""

import json
import sys
import tomllib
import zipfile
from pathlib import Path

import bpy
import pytest

from tests.blender.command_line.command_lines import contents, make_scene, results_of, save
from tests.blender.live.traces import KINDS_IN_USE
from tests.blender.package.installed import built, install, of_user, run

ROOT = Path(__file__).resolve().parents[3]
SESSION = Path(__file__).with_name("package_session.py")
MARK = "CHAIN_IK_SESSION "


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> dict:
    """What package_session.py saw with a freshly built zip and an empty user folder."""
    folder = tmp_path_factory.mktemp("package")
    is_application = bool(bpy.app.binary_path)
    blender = [bpy.app.binary_path, "--background", "--python-exit-code", "1", "--python"]
    zip_path = built(folder)
    start = [*blender, str(SESSION), "--"] if is_application else [sys.executable, str(SESSION)]
    output = run([*start, str(zip_path)], of_user(folder))
    (line,) = (line for line in output.splitlines() if line.startswith(MARK))
    return {**json.loads(line.removeprefix(MARK)), "folder": str(folder)}


def test_the_installed_extension_works_and_leaves_nothing_behind(session):
    assert session["enabled"]
    assert session["user_folder"].startswith(session["folder"])
    assert session["distance"] < 1e-5, session["status"]
    assert session["is_muted"]
    assert session["baked_distance"] < 1e-5
    assert session["creature"] == "Snake"
    # New chains and logs are as the preferences say, until it is disabled.
    assert (session["usual_solver"], session["usual_log"]) == ("NEWTON", "WARNING")
    assert session["added"] == {"solver": "CCD", "pole": None, "bone": ""}
    assert (session["log"], session["writes"], session["writes_after"]) == (10, 1, 0)
    assert len(session["compared"]) == 9
    assert all(0.0 <= residual < 1e-4 for residual in session["compared"].values())
    # Else the session could not see what it looks for.
    assert set(KINDS_IN_USE) <= set(session["kinds_in_use"])
    assert session["left_behind"] == {}
    assert not session["left_translations"]


def test_the_zip_has_its_creatures_and_asks_for_files(session):
    (zip_path,) = Path(session["folder"]).glob("chain_ik-*.zip")
    zipped = zipfile.ZipFile(zip_path)
    shipped = {f"creatures/{path.name}" for path in (ROOT / "blender_ik_addon").glob("*/*.json")}
    assert len(shipped) == 3
    assert shipped <= set(zipped.namelist())
    permissions = tomllib.loads(zipped.read("blender_manifest.toml").decode())["permissions"]
    assert permissions.keys() == {"files"}
    assert 0 < len(permissions["files"]) <= 64
    assert permissions["files"][-1].isalpha(), "Blender refuses punctuation at the end"


@pytest.mark.slow
@pytest.mark.oldest
def test_the_command_line_of_the_zip_bakes_in_one_process_and_in_two(session, tmp_path):
    (zip_path,) = Path(session["folder"]).glob("chain_ik-*.zip")
    program = install(zip_path, tmp_path)
    make_scene()
    file = save(tmp_path / "scene.blend")
    for jobs in ("1", "2"):
        outputs = [f"--output={tmp_path / jobs}.blend", f"--report={tmp_path / jobs}.json"]
        said = program.run(file, "bake", *outputs, "--jobs", jobs)
        assert "frame 12 of 12" in said.splitlines()
        assert len(results_of((tmp_path / f"{jobs}.json").read_text("utf-8"))["Arm"]) == 12
    assert contents(tmp_path / "1.blend") == contents(tmp_path / "2.blend")
