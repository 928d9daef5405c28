"""The job type for Flamenco: tasks, their dependencies, and messages for wrong settings."""

import re

import pytest

from tests.flamenco import JOB_TYPE, command_line, compiled, needs_node, settings_with, tasks_of

# The fields that Flamenco documents, and the values of fields with a fixed set of values.
FIELDS = {
    "key", "type", "subtype", "choices", "propargs", "description", "label", "default", "eval",
    "evalInfo", "visible", "required", "editable",
}  # fmt: skip
TYPES = {"string": str, "int32": int, "float": float, "bool": bool}
SUBTYPES = {"file_path", "dir_path", "hashed_file_path"}
VISIBLE = {"visible", "hidden", "submission", "web"}

START = ["blender", "-b", "-y", "/work/shot.flamenco.blend", "--scene", "Scene", "-c", "chain_ik"]
FOLDER = "/work/shot-baked-chunks-2006-01-02_150405"


def arguments_of(task) -> list[str]:
    """Return the arguments of a task for the command line of the extension."""
    line = command_line(task)
    assert line[: len(START)] == START
    return line[len(START) :]


def chunk(frames: str, only: str, name: str, *patterns: str) -> list[str]:
    output = ("--output", f"{FOLDER}/{name}.npz")
    return ["chunk", f"--frames={frames}", "--only", only, *output, *patterns]


@needs_node
def test_all_chunks_note_a_clip_and_merge_improves_it():
    *chunks, merge = tasks_of(settings_with(method="clip", smoothness=0.25))
    assert all("--method=clip" in arguments_of(task) for task in (*chunks, merge))
    assert "--smoothness=0.25" in arguments_of(merge)
    for task in tasks_of(settings_with()):
        assert not {"--method=clip", "--smoothness=0.5"} & set(arguments_of(task))


def frames_of_chunks(**settings) -> list[str]:
    """Return the frames of each chunk, with those of the whole last."""
    whole, *parts, _ = [arguments_of(task)[1] for task in tasks_of(settings_with(**settings))]
    return [argument.removeprefix("--frames=") for argument in (*parts, whole)]


@needs_node
def test_settings_are_those_that_flamenco_knows():
    job_type = compiled(settings_with())["jobType"]
    assert set(job_type) == {"label", "settings"}
    settings = job_type["settings"]
    keys = [setting["key"] for setting in settings]
    assert sorted(keys) == sorted(settings_with())
    for field in settings:
        assert set(field) <= FIELDS
        assert field["key"].isidentifier()
        assert field.get("subtype", "file_path") in SUBTYPES
        assert field.get("visible", "visible") in VISIBLE
        assert field["description"][-1] != "."
        assert isinstance(field.get("default", TYPES[field["type"]]()), TYPES[field["type"]])
        # Only settings that a person types may be missing; Flamenco itself sets the file.
        typed = field.get("visible") == "submission" and "default" in field
        assert typed or (field["required"] and ("eval" in field or field["key"] == "blendfile"))


@needs_node
def test_chunks_are_solved_in_any_order_and_merged_when_all_are_done():
    whole, *parts, merge = tasks_of(settings_with())
    assert [task["name"] for task in (whole, *parts, merge)] == [
        "whole", "frames 1 to 40", "frames 41 to 80", "frames 81 to 100", "merge"
    ]  # fmt: skip
    assert {task["type"] for task in (whole, *parts, merge)} == {"blender"}
    assert arguments_of(whole) == chunk("1-100", "dependent", "whole")
    assert [arguments_of(task) for task in parts] == [
        chunk("1-40", "independent", "frames_1_to_40"),
        chunk("41-80", "independent", "frames_41_to_80"),
        chunk("81-100", "independent", "frames_81_to_100"),
    ]
    files = [arguments_of(task)[5] for task in (whole, *parts)]
    assert len(set(files)) == 4
    outputs = ["--output", "/work/shot-baked.blend", "--report", "/work/shot-baked-report.json"]
    expected = ["merge", *files, "--frames=1-100", *outputs, "--accept-unreached"]
    assert arguments_of(merge) == expected
    assert [task["dependencies"] for task in (whole, *parts)] == [[]] * 4
    assert merge["dependencies"] == [task["uuid"] for task in (whole, *parts)]


@needs_node
def test_frames_are_read_as_on_the_command_line():
    assert frames_of_chunks(frames="7") == ["7", "7"]
    assert frames_of_chunks(frames="1..4", chunk_size=2) == ["1-2", "3-4", "1-4"]
    assert frames_of_chunks(frames=" 8, 1-3,2 - 5", chunk_size=4) == ["1-4", "5,8", "1-5,8"]
    assert frames_of_chunks(frames="-10--7,-1-1", chunk_size=5) == [
        "-10--7,-1",
        "0-1",
        "-10--7,-1-1",
    ]
    assert frames_of_chunks(frames="1-3", chunk_size=100) == ["1-3", "1-3"]
    _, *parts, _ = tasks_of(settings_with(frames="1,3,5", chunk_size=1))
    assert [task["name"] for task in parts] == ["frames 1", "frames 3", "frames 5"]


@needs_node
def test_patterns_go_to_every_chunk():
    chosen = settings_with(chains="Arm*, Spine ,", armatures="Crowd [12]", frames="1-2")
    whole, part, merge = tasks_of(chosen)
    patterns = ("--chains=Arm*", "--chains=Spine", "--armature=Crowd [12]")
    assert arguments_of(whole) == chunk("1-2", "dependent", "whole", *patterns)
    assert arguments_of(part) == chunk("1-2", "independent", "frames_1_to_2", *patterns)
    assert not set(patterns) & set(arguments_of(merge))


@needs_node
def test_windows_paths_and_variables_of_flamenco_stay():
    windows = settings_with(output_path="S:\\shots\\a b.blend", blendfile="S:\\jobs\\shot.blend")
    merge = tasks_of(windows)[-1]
    line = command_line(merge)
    assert line[3] == "S:\\jobs\\shot.blend"
    assert line[9] == "S:/shots/a b-chunks-2006-01-02_150405/whole.npz"
    assert line[-4:-2] == ["S:/shots/a b.blend", "--report"]
    merge = tasks_of(settings_with(output_path="{shots}/a.blend", blendfile="{jobs}/shot.blend"))[
        -1
    ]
    assert command_line(merge)[3] == "{jobs}/shot.blend"
    assert "{shots}/a.blend" in command_line(merge)


WRONG = [
    ({"frames": ""}, "'' is not a frame or a range: write 7, 1-250 or 10,20,30-40."),
    ({"frames": "1-9,x"}, "'x' is not a frame or a range: write 7, 1-250 or 10,20,30-40."),
    ({"frames": "9-1"}, "'9-1' is not a frame or a range: write 7, 1-250 or 10,20,30-40."),
    ({"frames": "1-9999999"}, "'1-9999999' is too far: Blender's frames end at 1048574."),
    ({"chunk_size": 0}, "A Chunk Size of 0 makes no chunks: choose a whole number, 1 or more."),
    ({"chunk_size": 2.5}, "A Chunk Size of 2.5 makes no chunks: choose a whole number, 1 or more."),
    (
        {"chunk_size": None},
        "A Chunk Size of null makes no chunks: choose a whole number, 1 or more.",
    ),
    ({"output_path": ""}, "Output '' is no .blend file: let its name end with .blend."),
    ({"output_path": "/work"}, "Output '/work' is no .blend file: let its name end with .blend."),
    (
        {"output_path": "a.blend"},
        "Output 'a.blend' is no full path: choose a folder that all workers see.",
    ),
    (
        {"output_path": "S:\\a.blend", "blendfile": "S:/a.blend"},
        "Output is the submitted file itself: choose another name.",
    ),
    ({"blendfile": ""}, "The job names no file or no scene: submit it from Blender."),
    (
        {"frames": "1-1000", "chunk_size": 1},
        "These are too many chunks to merge at once: choose a larger Chunk Size.",
    ),
]


@needs_node
@pytest.mark.parametrize(("changed", "said"), WRONG)
def test_wrong_settings_are_refused_in_one_sentence(changed, said):
    assert compiled(settings_with(**changed)) == {"error": said}


def test_flamenco_can_read_the_job_type():
    """Flamenco's JavaScript has no modules and no newer syntax."""
    text = JOB_TYPE.read_text(encoding="utf-8")
    newer = r"\brequire\(|\bimport\b|\bexport\b|\basync\b|\bawait\b|\?\.|\?\?|\(\?<|^\s*#\w|\d_\d"
    assert not re.findall(newer, text, re.MULTILINE)
