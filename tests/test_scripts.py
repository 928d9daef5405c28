"""Environments are made although connections break; results of test runs are counted correctly."""

import functools
import http.server
import importlib
import importlib.util
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from tests.window.application import complaints

TEST = Path(__file__).resolve().parent.parent / "scripts" / "test.py"


@pytest.fixture
def command_module(monkeypatch, scripts):
    """Load scripts/test.py by its path: the standard library has a module `test` too."""
    spec = importlib.util.spec_from_file_location("chain_ik_test_command", TEST)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("5 passed in 0.12s", (5, 0, 0)),
        ("2 failed, 5 passed, 1 skipped in 0.12s", (5, 2, 1)),
        ("===== 1 failed, 3 passed, 2 errors in 75.30s (0:01:15) =====", (3, 3, 0)),
        ("1 passed, 4 deselected, 1 xfailed, 1 xpassed, 3 warnings in 1.00s", (2, 0, 1)),
        ("no tests ran in 0.01s", (0, 0, 0)),
        ("Segmentation fault", (0, 0, 0)),
    ],
)
def test_results_are_read_from_the_last_line_of_pytest(command_module, summary, expected):
    outcome = command_module.count_results(["7 passed in the middle", summary, "Blender quit"])
    assert (outcome.passed, outcome.failed, outcome.skipped) == expected


@pytest.mark.parametrize("code", [3, 139])
def test_a_crash_without_results_is_a_failure(command_module, capsys, code):
    command = [sys.executable, "-c", f"import os; os._exit({code})"]
    assert command_module._run_pytest("crash", command, []).failed == 1
    assert f"exit code {code}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("blender", "expected", "said"),
    [
        (None, (0, 0, 10), "BLENDER names no full Blender"),
        ("/no/such/blender", (0, 10, 0), "is not a program"),
    ],
)
def test_the_window_run_says_why_it_does_not_run(
    command_module, monkeypatch, capsys, tmp_path, blender, expected, said
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BLENDER", raising=False)
    if blender:
        monkeypatch.setenv("BLENDER", blender)
    monkeypatch.setattr(sys, "argv", ["test.py", "--only", "window"])
    (run,) = command_module.plan_runs(command_module.parse_command_line()).values()
    outcome = command_module.carry_out("window", run)
    assert (outcome.passed, outcome.failed, outcome.skipped) == expected
    assert said in capsys.readouterr().out


BAD = [
    "Traceback (most recent call last):",
    "Error: Python: the operator has failed",
    "UILayout.prop(): property not found: ForceSettings.gravitas",
    "rna_uiItemR: property not found: ForceSettings.gravitas",
    "bpy.rna          | ERROR Python script error in VIEW3D_PT_chain_ik_reach.draw",
    "Error: the message of this chain has no bone",
    "WARN (bpy.rna): chain_ik is registered already",
    "Error: Not freed memory blocks: 3, total unfreed memory 0.002 MB",
]
GOOD = [
    "00:00.745  system.path      | WARNING Could not get a list of mounted file-systems",
    "Reloading external rigs...",
    "Repository data: /tmp/profile/extensions/blender_org not found, sync required!",
    "ALSA lib confmisc.c:855:(parse_card) cannot find card '0': Unknown error",
    'Info: Saved as "session.blend"',
    "02:50.393  operator         | Baked 1 chain from frame 1 to 100",
    "Blender quit",
]


@pytest.mark.parametrize("line", BAD)
def test_a_complaint_is_found_with_the_next_line(line):
    assert complaints([*GOOD, line, "the cause"]) == [f"{line}\nthe cause"]


def test_usual_output_of_blender_is_not_a_complaint():
    assert complaints(GOOD) == []


WHEEL = "tiny_thing-1.0-py3-none-any.whl"


class BreakingIndex(http.server.SimpleHTTPRequestHandler):
    """A local index that sends half of a wheel before it breaks the connection."""

    broken_calls = 0
    calls = 0

    def copyfile(self, source, outputfile):
        data, kind = source.read(), type(self)
        # A call of pip requests the list once; newer versions request the wheel five more times.
        kind.calls += not self.path.endswith(WHEEL)
        if self.path.endswith(WHEEL) and kind.calls <= kind.broken_calls:
            data = data[: len(data) // 2]
            self.close_connection = True
        outputfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def index(tmp_path):
    """Start an index with one package; yield its address and its handler."""
    folder = tmp_path / "index" / "tiny-thing"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        info = "tiny_thing-1.0.dist-info"
        wheel.writestr("tiny_thing.py", "there = True\n" + "# filling\n" * 9999)
        about = "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n"
        wheel.writestr(f"{info}/METADATA", about)
        tag = "Root-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\n{tag}")
        wheel.writestr(f"{info}/RECORD", "")
    handler = type("Handler", (BreakingIndex,), {})
    served = functools.partial(handler, directory=str(tmp_path / "index"))
    # The handler makes the list of files.
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()


@pytest.fixture
def install(monkeypatch, tmp_path, index, scripts):
    """Return a function that installs the package of the index with pip, and returns its folder."""
    environment = importlib.import_module("environment")
    monkeypatch.setattr(environment, "FOLDER", tmp_path)
    monkeypatch.setattr(environment, "_WAITS", (0.0, 0.0))
    folder = tmp_path / "made"
    folder.mkdir()

    def call():
        options = ("--no-cache-dir", "--index-url", index[0], "--target", str(folder))
        python = Path(sys.executable)
        environment._pip_install("made", python, (*options, "tiny-thing"), "recipe")
        return folder

    call.error = environment.InstallError
    return call


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_a_download_that_breaks_off_is_repeated(index, install, broken):
    index[1].broken_calls = broken
    folder = install()
    assert (folder / "tiny_thing.py").exists()
    assert list(folder.glob("chain_ik_recipe.txt"))


def test_a_download_that_always_breaks_off_raises_an_error(index, install):
    index[1].broken_calls = 99
    with pytest.raises(install.error, match="pip could not install made: "):
        install()
