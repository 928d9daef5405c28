"""A bake on a farm: the commands that the job type for Flamenco makes, run by several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from tests.blender.command_line.command_lines import (
    LAST,
    command,
    contents,
    make_varied_scene,
    needs_module,
    opened,
    save,
    start,
)
from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import give, make_pulled
from tests.flamenco import command_line, compiled, needs_node, settings_with, tasks_of

FOLDER = "shot-baked-chunks-2006-01-02_150405"
WORKERS = 3


class Farm:
    """Workers on this machine: each task starts once all that it waits for are done.

    Attributes:
        done: Tasks that have ended with 0, by name.
        ended: Name and exit code of all that have ended, in order.
        running: Processes by name of the task.
    """

    def __init__(self, tasks: list[dict[str, Any]], logs: Path) -> None:
        self.tasks = tasks
        self.done: set[str] = set()
        self.ended: list[tuple[str, int]] = []
        self.running: dict[str, subprocess.Popen[str]] = {}
        self._logs = logs
        logs.mkdir(exist_ok=True)

    def run(self, watch: Callable[[Farm], bool] = lambda farm: False) -> None:
        """Run what is not done, failed tasks once more, until `watch` stops it all at once."""
        try:
            while len(self.done) < len(self.tasks):
                self._start()
                if watch(self):
                    return
                self._look()
                time.sleep(0.005)
        finally:
            for process in self.running.values():
                process.kill()
                process.wait()
            self.running.clear()

    def log(self, name: str) -> str:
        """Return what the last try of a task has written so far."""
        path = self._logs / name
        return path.read_text() if path.exists() else ""

    def _start(self) -> None:
        names = {task["uuid"]: task["name"] for task in self.tasks}
        for task in self.tasks:
            name, needs = task["name"], {names[uuid] for uuid in task["dependencies"]}
            is_free = name not in self.done and name not in self.running
            if is_free and needs <= self.done and len(self.running) < WORKERS:
                with open(self._logs / name, "w", encoding="utf-8") as log:
                    options = {"stdout": subprocess.DEVNULL, "stderr": log}
                    self.running[name] = start(*as_module(command_line(task)), **options)

    def _look(self) -> None:
        for name, process in list(self.running.items()):
            code = process.poll()
            if code is None:
                continue
            del self.running[name]
            self.ended.append((name, code))
            failures = [each for each in self.ended if each[0] == name and each[1] != 0]
            assert len(failures) < 2, self.log(name)
            if code == 0:
                self.done.add(name)


def as_module(line: list[str]) -> list[str]:
    """Return what stands for a command line of the application where Blender is a module."""
    blender, background, scripts, file, *scene, option, command = line[:8]
    assert (blender, background, scripts) == ("blender", "-b", "-y")
    assert (scene, option, command) == (["--scene", "Scene"], "-c", "chain_ik")
    return ["-y", file, *line[8:]]


def submitted(**changed: object) -> list[dict[str, Any]]:
    """Return the tasks of a job that is submitted from the open file."""
    own = {"output_path": "shot-baked.blend", "chunk_size": 20, **changed}
    settings = settings_with(blendfile=bpy.data.filepath)
    names = {"bpy": bpy, "C": bpy.context, "Path": Path, "abspath": abspath}
    for each in compiled(settings)["jobType"]["settings"]:
        if "eval" in each:
            names["settings"] = SimpleNamespace(**settings)
            settings[each["key"]] = eval(each["eval"], {}, names)
    assert Path(settings["output_path"]).name == own.pop("output_path")
    return tasks_of({**settings, **own})


def abspath(path: object) -> Path:
    return Path(os.path.abspath(bpy.path.abspath(str(path))))


def slow_down(times: int) -> None:
    """Have everything in the scene move so many times as slowly."""
    scene = bpy.context.scene
    for ob in scene.objects:
        for curve in rigs.curves_of(ob):
            for point in curve.keyframe_points:
                point.co_ui.x = 1 + (point.co.x - 1) * times
            curve.update()
    scene.frame_end = LAST * times


def save_shot(folder: Path) -> tuple[Path, bytes]:
    (folder / "work").mkdir()
    file = save(folder / "work" / "shot.blend")
    return file, file.read_bytes()


def seen(folder: Path) -> set[str]:
    """Return the names in a folder but those that begin with a dot."""
    return {each.name for each in folder.iterdir() if not each.name.startswith(".")}


@needs_node
@needs_module
@pytest.mark.slow
@pytest.mark.oldest
def test_a_farm_gives_the_keys_of_one_bake_though_a_worker_and_then_all_are_killed(tmp_path):
    make_varied_scene()
    for name, settings in (("Eased", {"use_gradual": True, "ease": 0.25}), ("Pulled", {})):
        _, target, chain = make_pulled(4, name=name)
        give(chain, **settings)
        rigs.key(target, "location", {1: (1.8, 2.0, 1.5), LAST: (-1.0, 1.5, 2.5)})
    chain.start_from = "CURRENT"
    slow_down(2)
    file, before = save_shot(tmp_path)
    farm, victim = Farm(submitted(chunk_size=12), tmp_path / "logs"), "frames 13 to 24"
    output, folder = file.with_name("shot-baked.blend"), file.parent / FOLDER

    def kill_once(farm: Farm) -> bool:
        is_first = victim not in dict(farm.ended)
        if is_first and "frame 1 of 12" in farm.log(victim).splitlines():
            farm.running[victim].send_signal(signal.SIGKILL)
            farm.running[victim].wait()
        return output.exists() or any(
            each.name[1:].startswith("shot-baked") for each in file.parent.glob(".*")
        )

    # All are stopped while the first of what is asked for is written.
    farm.run(kill_once)
    assert file.read_bytes() == before
    assert not output.exists() or len(contents(output)) == 7
    farm.run()
    names = ["whole", "frames 1 to 12", victim, "merge"]
    assert sorted(farm.ended) == sorted([(victim, -signal.SIGKILL), *((each, 0) for each in names)])
    assert farm.ended[-1] == ("merge", 0)
    assert "frame 24 of 24" in farm.log("whole")

    assert seen(file.parent) == {"shot.blend", output.name, "shot-baked-report.json", FOLDER}
    files = {f"{each.replace(' ', '_')}.npz" for each in names[:-1]}
    assert seen(folder) == files
    one, report = tmp_path / "one.blend", tmp_path / "one.json"
    opened(file)
    assert command("bake", "--output", one, "--report", report) == 3
    assert (file.parent / "shot-baked-report.json").read_bytes() == report.read_bytes()
    found = contents(output)
    assert len(found) == 7
    assert all(len(keys) > 5 for keys, *_ in found.values())
    assert found == contents(one)
    assert file.read_bytes() == before
