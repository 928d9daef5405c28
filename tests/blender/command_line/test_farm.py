"""A bake on a farm: the commands that the job type for Flamenco makes, of which some are killed."""

from __future__ import annotations

import os
import time
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
    wait_for_line,
)
from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import give, make_pulled
from tests.flamenco import command_line, compiled, needs_node, settings_with, tasks_of

FOLDER = "shot-baked-chunks-2006-01-02_150405"


def arguments_of(task: dict[str, Any]) -> list[str]:
    blender, background, scripts, file, *scene, option, name = command_line(task)[:8]
    assert (blender, background, scripts, file) == ("blender", "-b", "-y", bpy.data.filepath)
    assert (scene, option, name) == (["--scene", "Scene"], "-c", "chain_ik")
    return command_line(task)[8:]


def submitted(**changed: object) -> list[dict[str, Any]]:
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


def seen(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir() if not each.name.startswith(".")}


@needs_node
@needs_module
@pytest.mark.slow
@pytest.mark.oldest
def test_a_farm_gives_the_keys_of_one_bake_though_a_chunk_and_the_merge_are_killed(tmp_path):
    make_varied_scene()
    for name, settings in (("Eased", {"use_gradual": True, "ease": 0.25}), ("Pulled", {})):
        _, target, chain = make_pulled(4, name=name)
        give(chain, **settings)
        rigs.key(target, "location", {1: (1.8, 2.0, 1.5), LAST: (-1.0, 1.5, 2.5)})
    chain.start_from = "CURRENT"
    (tmp_path / "work").mkdir()
    file = save(tmp_path / "work" / "shot.blend")
    before, output, folder = file.read_bytes(), file.with_name("shot-baked.blend"), file.parent
    tasks = {task["name"]: arguments_of(task) for task in submitted(chunk_size=LAST // 2)}
    assert [*tasks] == ["whole", "frames 1 to 6", "frames 7 to 12", "merge"]

    with start("-y", file, *tasks["frames 7 to 12"]) as process:
        wait_for_line(process, "frame 1 of 6")
        process.kill()
    for name, arguments in tasks.items():
        if name == "merge":
            with start("-y", file, *arguments) as process:
                # Until the first of what is asked for is written.
                while process.poll() is None and not [
                    *folder.glob(".shot-baked*"),
                    *folder.glob(output.name),
                ]:
                    time.sleep(0.005)
                process.kill()
            assert not output.exists() or len(contents(output)) == 7
        opened(file)
        assert command(*arguments) == 0
    assert seen(folder) == {"shot.blend", output.name, "shot-baked-report.json", FOLDER}
    assert seen(folder / FOLDER) == {f"{each.replace(' ', '_')}.npz" for each in [*tasks][:-1]}
    one, report = tmp_path / "one.blend", tmp_path / "one.json"
    opened(file)
    assert command("bake", "--output", one, "--report", report) == 3
    assert (folder / "shot-baked-report.json").read_bytes() == report.read_bytes()
    found = contents(output)
    assert len(found) == 7
    assert all(len(keys) > 5 for keys, *_ in found.values())
    assert found == contents(one)
    assert file.read_bytes() == before
