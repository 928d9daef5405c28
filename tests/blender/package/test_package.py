"""The zip that people install: it works, runs only trusted code, and leaves no trace."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import bpy
import pytest

from blender_ik_addon.cli import jobs
from tests.blender.command_line.command_lines import (
    LAST,
    make_rope,
    make_scene,
    read_bake,
    read_results,
    save,
)
from tests.blender.live.traces import KINDS_IN_USE
from tests.blender.setups import rigs

ROOT = Path(__file__).resolve().parents[3]
SESSION = Path(__file__).with_name("package_session.py")
MARK = "CHAIN_IK_SESSION "


def make_command(file: Path, *arguments: object, flags: Sequence[str] = ()) -> list[str]:
    """Return the command line of a command of an installed zip; flags come before the file."""
    texts = [str(argument) for argument in arguments]
    if bpy.app.binary_path:
        return [bpy.app.binary_path, "-b", *flags, str(file), "-c", "chain_ik", *texts]
    return [sys.executable, "-m", "chain_ik", *flags, str(file), *texts]


def run(command: list[str], variables: dict[str, str], folder: Path = ROOT) -> str:
    process = subprocess.run(
        command,
        env=variables,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout


def user_variables(folder: Path) -> dict[str, str]:
    """Return environment variables that make a folder Blender's user folder."""
    return {
        **os.environ,
        "BLENDER_USER_RESOURCES": str(folder / "user"),
        "BLENDER": bpy.app.binary_path,
    }


def install(zip_path: Path, folder: Path) -> dict[str, str]:
    """Install a zip for a user, and return the environment variables of its processes."""
    variables = user_variables(folder)
    if bpy.app.binary_path:
        arguments = ["-c", "extension", "install-file", "-r", "user_default", "-e", str(zip_path)]
        run([bpy.app.binary_path, "-b", *arguments], variables)
    else:
        zipfile.ZipFile(zip_path).extractall(folder / "chain_ik")
        variables["PYTHONPATH"] = str(folder)
    return variables


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> dict:
    """The results of package_session.py with a freshly built zip and an empty user folder."""
    folder = tmp_path_factory.mktemp("package")
    is_application = bool(bpy.app.binary_path)
    blender = [bpy.app.binary_path, "--background", "--python-exit-code", "1", "--python"]
    builder = [sys.executable, str(ROOT / "scripts" / "build_extension.py")]
    run([*builder, "--output", str(folder)], user_variables(folder))
    (zip_path,) = folder.glob("chain_ik-*.zip")
    start = [*blender, str(SESSION), "--"] if is_application else [sys.executable, str(SESSION)]
    output = run([*start, str(zip_path)], user_variables(folder))
    (line,) = (line for line in output.splitlines() if line.startswith(MARK))
    return {**json.loads(line.removeprefix(MARK)), "folder": str(folder), "zip": zip_path}


def test_the_installed_extension_works_and_leaves_nothing_behind(session):
    assert session["enabled"]
    assert session["user_folder"].startswith(session["folder"])
    assert session["distance"] < 1e-5, session["status"]
    assert session["is_muted"]
    assert session["baked_distance"] < 1e-5
    assert session["creature"] == "Snake"
    # New chains and logs follow the preferences until the extension is disabled.
    assert (session["usual_solver"], session["usual_log"]) == ("NEWTON", "WARNING")
    assert session["added"] == {"solver": "CCD", "pole": None, "bone": ""}
    assert (session["log"], session["writes"], session["writes_after"]) == (10, 1, 0)
    assert len(session["compared"]) == 9
    assert all(0.0 <= residual < 1e-4 for residual in session["compared"].values())
    # Otherwise the session could not see the traces that it looks for.
    assert set(KINDS_IN_USE) <= set(session["kinds_in_use"])
    assert session["left_behind"] == {}
    assert not session["left_translations"]


def test_the_zip_has_its_creatures_and_asks_for_files(session):
    zipped = zipfile.ZipFile(session["zip"])
    shipped = {f"creatures/{path.name}" for path in (ROOT / "blender_ik_addon").glob("*/*.json")}
    assert len(shipped) == 3
    assert shipped <= set(zipped.namelist())
    permissions = tomllib.loads(zipped.read("blender_manifest.toml").decode())["permissions"]
    assert permissions.keys() == {"files"}
    assert 0 < len(permissions["files"]) <= 64
    assert permissions["files"][-1].isalpha(), "Blender refuses punctuation at the end"


needs_application = pytest.mark.skipif(
    not bpy.app.binary_path, reason="Blender as a module reads no preferences and no startup files"
)
KINDS = {"driver", "text", "handler"}
# The frame at which the driver's object is shown. The second of two parts begins after it.
APPEARS_AT = 4
TEXT = """
import bpy

def mark(kind):
    open({folder!r} + "/" + kind, "a").close()

def register():
    mark("text")
    bpy.app.handlers.frame_change_post.append(lambda *given: mark("handler"))

if __name__ == "__main__":
    register()
"""
COMMANDS = {
    "solve": ("solve", "--frames", APPEARS_AT, "--output", "out.blend", "--accept-unreached"),
    "report, two jobs": ("report", "--jobs", 2, "--accept-unreached"),
    "bake, two jobs": (
        *("bake", "--output", "out.blend", "--report", "out.json"),
        *("--jobs", 2, "--accept-unreached"),
    ),
}


@pytest.fixture(scope="module")
def program(session, tmp_path_factory) -> dict[str, str]:
    return install(session["zip"], tmp_path_factory.mktemp("trust"))


def make_file(folder: Path, kinds: set[str] = KINDS) -> Path:
    """Return a file with code in a driver, inactive at first, in a text and in its handler."""
    make_scene()
    make_rope("Rope", 6.0)
    marks = folder / "marks"
    marks.mkdir()
    if "driver" in kinds:
        hidden = rigs.make_empty("Hidden")
        rigs.key(hidden, "hide_viewport", {1: True, APPEARS_AT: False})
        driver = hidden.driver_add("location", 0).driver
        driver.expression = f"open({str(marks / 'driver')!r}, 'a').close() or frame"
    if "text" in kinds:
        text = bpy.data.texts.new("rig_ui.py")
        text.write(TEXT.format(folder=str(marks)))
        text.use_module = True
    return save(folder / "scene.blend")


def run_kinds(program: dict[str, str], file: Path, name: str, *flags: str) -> set[str]:
    for mark in (file.parent / "marks").iterdir():
        mark.unlink()
    command = make_command(file, *COMMANDS[name], flags=flags)
    if not bpy.app.binary_path:
        # Without -P, Python looks for modules first in the folder in which it starts.
        module = f"open({str(file.parent / 'marks' / 'module')!r}, 'a').close()"
        (file.parent / "json.py").write_text(module)
        command.insert(1, "-P")
    run(command, program, file.parent)
    return {mark.name for mark in (file.parent / "marks").iterdir()}


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize(("name", "kinds"), [("solve", KINDS), ("report, two jobs", {"driver"})])
def test_no_command_runs_code_of_a_file_that_is_not_trusted(program, tmp_path, name, kinds):
    """Blender refuses the text when it opens the file, but nothing of a driver that is inactive.

    Parts of a command do not import modules of the folder in which they start either.
    """
    assert run_kinds(program, make_file(tmp_path, kinds), name) == set()


@pytest.mark.slow
@pytest.mark.oldest
def test_the_command_line_of_the_zip_bakes_and_runs_the_code_of_a_file_that_is_trusted(
    program, tmp_path
):
    """Otherwise the test above would prove nothing: marks must appear when code runs."""
    assert run_kinds(program, make_file(tmp_path), "bake, two jobs", "-y") == KINDS
    assert len(read_results((tmp_path / "out.json").read_text("utf-8"))["Arm"]) == LAST
    assert all(len(keys) == LAST for keys in read_bake(tmp_path / "out.blend")["Rig 0"][0].values())


@pytest.mark.slow
@pytest.mark.oldest
@needs_application
@pytest.mark.parametrize("is_excluded", [False, True])
def test_parts_trust_as_the_preferences_say(session, tmp_path, is_excluded):
    file = make_file(tmp_path)
    excluded = f"paths.new().path = {str(tmp_path)!r}" if is_excluded else "paths"
    set_preferences = (
        "import bpy; preferences = bpy.context.preferences;"
        " preferences.filepaths.use_scripts_auto_execute = True;"
        f" paths = preferences.autoexec_paths; {excluded}; bpy.ops.wm.save_userpref()"
    )
    variables = install(session["zip"], tmp_path)
    run([bpy.app.binary_path, "-b", "--python-expr", set_preferences], variables)
    expected = set() if is_excluded else KINDS
    for name in ("report, two jobs", "solve"):
        assert run_kinds(variables, file, name) == expected


@pytest.mark.slow
@pytest.mark.oldest
@needs_application
def test_parts_of_a_factory_startup_start_with_factory_settings_too(program, tmp_path):
    """Otherwise they would load the user's add-ons and preferences."""
    start = jobs.start_command()
    assert start[2:5] == ["--factory-startup", "--addons", "blender_ik_addon"]
    file = make_file(tmp_path, {"driver"})
    flags = ("--factory-startup", "--addons", "bl_ext.user_default.chain_ik")
    assert run_kinds(program, file, "report, two jobs", *flags) == set()
