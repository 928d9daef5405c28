"""Environments are made although a connection breaks off; if it always does, pip is quoted."""

import functools
import http.server
import importlib
import sys
import threading
import zipfile
from pathlib import Path

import pytest

WHEEL = "tiny_thing-1.0-py3-none-any.whl"


class BreakingIndex(http.server.SimpleHTTPRequestHandler):
    """An index on this machine that sends half of a wheel before it breaks off."""

    broken_calls = 0
    calls = 0

    def copyfile(self, source, outputfile):
        data, kind = source.read(), type(self)
        # A call of pip asks for the list once, and newer versions five times more for the wheel.
        kind.calls += not self.path.endswith(WHEEL)
        if self.path.endswith(WHEEL) and kind.calls <= kind.broken_calls:
            data = data[: len(data) // 2]
            self.close_connection = True
        outputfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def index(tmp_path):
    """The address of an index with one package, and its handler."""
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
    # The list of files is made by the handler.
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()


@pytest.fixture
def install(monkeypatch, tmp_path, index, scripts):
    """A call of pip that installs the package of the index into the folder it returns."""
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
def test_a_download_that_breaks_off_is_tried_again(index, install, broken):
    index[1].broken_calls = broken
    folder = install()
    assert (folder / "tiny_thing.py").exists()
    assert list(folder.glob("chain_ik_recipe.txt"))


def test_a_download_that_always_breaks_off_says_what_pip_says(index, install):
    index[1].broken_calls = 99
    with pytest.raises(install.error, match="pip could not install made: "):
        install()
