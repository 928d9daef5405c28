"""Frames solved in parts by processes, machines or a farm: the result is that of one process."""

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest

from blender_ik_addon.cli import jobs
from blender_ik_addon.cli.errors import CommandError
from blender_ik_addon.cli.jobs import Job, run
from tests.blender.command_line import command_lines as lines
from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import make_pulled, set_forces
from tests.flamenco import command_line, compiled, needs_node, settings_with, tasks_of

pytestmark = pytest.mark.slow
WHOLE = ("--frames", f"1-{lines.LAST}")


@pytest.fixture
def file(tmp_path):
    lines.make_scene(2)
    return lines.save(tmp_path / "scene.blend")


def refusal(capfd, *arguments: object) -> str:
    capfd.readouterr()
    assert lines.run(*arguments) == 1
    return capfd.readouterr().err.splitlines()[-1].removeprefix("Error: ")


def make_chunks(file: Path, *ranges: str, options: tuple[object, ...] = ()) -> list[Path]:
    chunks = []
    for text in ranges:
        lines.open_file(file)
        chunks.append(file.with_name(f"{text}.npz"))
        assert lines.run("chunk", f"--frames={text}", "--output", chunks[-1], *options) == 0
    lines.open_file(file)
    return chunks


def find_children(process) -> list[int]:
    path = Path(f"/proc/{process.pid}/task")
    texts = [(task / "children").read_text() for task in path.iterdir()]
    return [int(pid) for text in texts for pid in text.split()]


@lines.needs_module
@pytest.mark.skipif(
    sys.platform != "linux", reason="child processes are found in /proc, which only Linux has"
)
def test_three_processes_one_of_them_killed_give_exactly_the_result_of_one(tmp_path):
    lines.make_scene()
    lines.make_rope("Rope", 6.0)
    bpy.context.scene.frame_end = last = 40
    file = lines.save(tmp_path / "scene.blend")
    before = file.read_bytes()
    one_options, three_options = (
        ("--output", tmp_path / f"{name}.blend", "--report", tmp_path / f"{name}.json")
        for name in ("one", "three")
    )
    code = lines.run("bake", *one_options, *lines.CLIP)
    with lines.start_process(file, "bake", *three_options, *lines.CLIP, "--jobs", 2) as process:
        lines.wait_for_line(process, "frame 2 of")
        # The main process starts it once more.
        os.kill(find_children(process)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (code, ""), err
    assert f"frame {2 * last} of {2 * last}" in err.splitlines()
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "three.json").read_bytes()
    one, three = (lines.read_bake(tmp_path / f"{name}.blend") for name in ("one", "three"))
    assert len(one) == 2
    assert all(len(keys) > 5 for keys, *_ in one.values())
    assert one == three
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("method", "keying"),
    [((), ()), ((), ("--step", 5, "--tolerance", 0.01)), (lines.CLIP, ("--step", 3))],
)
def test_chunks_merged_in_any_order_are_the_bake_and_its_report(file, capfd, method, keying):
    bpy.data.objects["Rig 0"].chain_ik.chains[0].solver = "CCD"
    lines.save(file)
    whole, merged = file.with_name("whole.blend"), file.with_name("merged.blend")
    before = file.read_bytes()
    capfd.readouterr()
    assert lines.run("bake", "--output", whole, "--report", "-", *method, *keying) == 0
    texts = [capfd.readouterr().out]
    chunks = make_chunks(file, "9-12", "1-3", "4-8", options=method)
    for order in (chunks, sorted(chunks)):
        lines.open_file(file)
        capfd.readouterr()
        assert (
            lines.run("merge", *order, "--output", merged, "--report", "-", *method, *keying) == 0
        )
        texts.append(capfd.readouterr().out)
    assert lines.read_bake(merged) == lines.read_bake(whole)
    assert file.read_bytes() == before
    if not keying:
        lines.open_file(file)
        capfd.readouterr()
        assert lines.run("report") == 0
        texts.append(capfd.readouterr().out)
    assert set(texts) == {texts[0]}


def test_missing_and_duplicate_frames_are_reported(file, capfd):
    output = ("--output", file.with_name("out.blend"))
    first, second, over = make_chunks(file, "1-4", "8-11", "4-7")
    message = refusal(capfd, "merge", first, second, *output)
    assert (
        message == "Frames 5-7, 12 of 'Rig 0' are missing from the files: run chunk for them first."
    )
    message = refusal(capfd, "merge", first, second, over, *output)
    assert message == f"Frame 4 of 'Rig 0' is in {first} and in {over}: leave one of them out."
    assert not output[1].exists()
    assert lines.run("merge", first, second, *output, "--frames", "2-3,8-11") == 0
    lines.open_file(output[1])
    keys = rigs.keys_of(bpy.data.objects["Rig 0"])
    assert {tuple(x for x, _ in points) for points in keys.values()} == {(2, 3, 8, 9, 10, 11)}


def test_chunks_of_other_chains_or_another_file_are_refused(file, capfd):
    output = ("--output", file.with_name("out.blend"))
    (first,) = make_chunks(file, "1-6")
    (arms,) = make_chunks(file, "7-12", options=("--chains", "Arm"))
    assert "hold different chains" in refusal(capfd, "merge", first, arms, *output)
    (one,) = make_chunks(file, "7-12", options=("--armature", "Rig 1"))
    assert "hold different chains" in refusal(capfd, "merge", first, one, *output)
    (report,) = make_chunks(file, "7-12", options=("--report-only",))
    assert "report without poses" in refusal(capfd, "merge", report, *output, "--frames", "7-12")
    message = refusal(capfd, "merge", first, *output, *lines.CLIP)
    assert message.endswith(
        f"{first.name} holds no data for a clip: make it again with --method clip."
    )
    bpy.data.objects["Rig 0"].location.x = 1.0
    lines.save(file)
    (second,) = make_chunks(file, "7-12")
    message = refusal(capfd, "merge", first, second, *output)
    assert message == (
        f"{first} is from another file, or from another version of this one: make it again."
    )
    assert not output[1].exists()


def test_a_file_that_is_not_a_chunk_is_reported(file, capfd):
    output = ("--output", file.with_name("out.blend"))
    (chunk,) = make_chunks(file, "1-12")
    torn, text = file.with_name("torn.npz"), file.with_name("text.npz")
    torn.write_bytes(chunk.read_bytes()[:-300])
    text.write_text("no chunk")
    other = file.with_name("other.npz")
    np.savez(other, values=np.zeros(3))
    for path in (torn, text, other):
        message = refusal(capfd, "merge", path, *output)
        assert message == f"{path} is not a complete file of chunk: make it again."
    assert "does not exist" in refusal(capfd, "merge", file.with_name("gone.npz"), *output)
    # The command chunk makes the folder of its output, but not the parent of that folder.
    folder = file.with_name("chunks")
    for name in ("a.npz", "b.npz"):
        assert lines.run("chunk", "--frames", 1, "--output", folder / name) == 0
    assert {path.name for path in folder.iterdir()} == {"a.npz", "b.npz"}
    wrong = file.with_name("wrong")
    message = refusal(capfd, "chunk", "--output", wrong / "chunks" / "a.npz")
    assert message == f"The folder {wrong / 'chunks'} does not exist: make it first."
    assert not wrong.exists()


def test_chains_that_depend_on_time_are_played_from_the_first_frame_or_refused(tmp_path, capfd):
    lines.make_scene()
    lines.make_rope("Rope", 6.0)
    file = lines.save(tmp_path / "scene.blend")
    whole, merged = tmp_path / "whole.blend", tmp_path / "merged.blend"
    assert lines.run("bake", "--output", whole) in (0, 3)
    first, second = make_chunks(file, "1-6", "7-12")
    message = refusal(capfd, "merge", first, second, "--output", merged)
    assert message.endswith("starts at frame 7 instead of 1: make it again with --from 1.")
    (second,) = make_chunks(file, "7-12", options=("--from", 1))
    assert lines.run("merge", first, second, "--output", merged) in (0, 3)
    assert lines.read_bake(merged) == lines.read_bake(whole)
    # Another way: solve the rope in one part, and the others in two.
    free = make_chunks(file, "1-6", "7-12", options=("--only", "independent"))
    assert "No file contains 'Rope'" in refusal(capfd, "merge", *free, "--output", merged)
    rope = make_chunks(file, "1-12", options=("--only", "dependent"))
    assert lines.run("merge", *free, *rope, "--output", merged) in (0, 3)
    assert lines.read_bake(merged) == lines.read_bake(whole)


@pytest.mark.parametrize("name", ["only ropes", "no ropes"])
def test_a_chunk_without_chains_is_merged_as_well(tmp_path, name):
    if name == "only ropes":
        lines.make_rope("Rope", 6.0)
        bpy.context.scene.frame_end = lines.LAST
    else:
        lines.make_scene()
    file = lines.save(tmp_path / "scene.blend")
    whole, merged = tmp_path / "whole.blend", tmp_path / "merged.blend"
    assert lines.run("bake", "--output", whole) in (0, 3)
    lines.open_file(file)
    chunks = [tmp_path / f"{kind}.npz" for kind in ("independent", "dependent")]
    for chunk in chunks:
        assert lines.run("chunk", *WHOLE, "--only", chunk.stem, "--output", chunk) == 0
    assert lines.run("merge", *chunks, *WHOLE, "--output", merged) in (0, 3)
    assert lines.read_bake(merged) == lines.read_bake(whole)


@lines.needs_module
def test_frames_that_cannot_be_solved_are_reported_by_the_main_process(file, capfd, monkeypatch):
    # The test with a killed process covers the second attempt.
    monkeypatch.setattr(jobs, "MAX_ATTEMPTS", 1)
    bpy.data.objects["Rig 1"].chain_ik.chains["Arm"].target = None
    lines.save(file)
    output = file.with_name("out.blend")
    message = refusal(capfd, "bake", "--output", output, "--jobs", 2)
    assert message.startswith("Frames ")
    assert "could not be solved: 'Rig 1': Chain 'Arm' cannot be baked at frame " in message
    assert {path.name for path in file.parent.iterdir()} == {"scene.blend"}


@lines.needs_module
def test_a_bake_that_is_killed_leaves_the_file_and_can_be_run_again(tmp_path):
    lines.make_scene()
    bpy.context.scene.frame_end = 200
    file = lines.save(tmp_path / "scene.blend")
    before = file.read_bytes()
    with lines.start_process(file, "bake", "--overwrite", "--jobs", 2) as process:
        lines.wait_for_line(process, "frame 2 of 200")
        children = find_children(process)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    for child in children:
        wait_for_end(child)
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"scene.blend"}
    lines.open_file(file)
    assert lines.run("bake", "--overwrite", "--frames", "1-20") == 0
    lines.open_file(file)
    assert all(len(keys) == 20 for keys in rigs.keys_of(bpy.data.objects["Rig 0"]).values())


@lines.needs_module
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize(("compress", "destination"), [(False, "--overwrite"), (True, "--output")])
def test_a_full_disk_leaves_existing_files_as_they_were(tmp_path, destination, compress):
    """Blender reports a compressed file as saved even where a full disk has cut it off."""
    import resource

    lines.make_scene(2)
    file = lines.save(tmp_path / "scene.blend", compress=compress)
    size_limit = len(file.read_bytes()) // 2

    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_limit, size_limit))

    output = file.with_name("out.blend")
    output.write_bytes(b"what was there")
    output_options = ("--overwrite",) if destination == "--overwrite" else ("--output", output)
    before = file.read_bytes()
    with lines.start_process(file, "bake", *output_options, preexec_fn=limit_file_size) as process:
        _, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    assert "could not be saved completely: free disk space" in err.splitlines()[-1]
    assert (file.read_bytes(), output.read_bytes()) == (before, b"what was there")
    assert {path.name for path in file.parent.iterdir()} == {"scene.blend", "out.blend"}


def wait_for_end(pid: int) -> None:
    """Wait until a process without a parent has ended by itself."""
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} goes on without its parent")


def make_job(code: str, name: str, count: int = 4) -> Job:
    return Job([sys.executable, "-c", code], name, count)


def record(progress: list[tuple[int, int]]):
    return lambda number, total: progress.append((number, total))


def progress_code(count: int) -> str:
    return f"import sys\nfor i in range({count}): print('frame', i + 1, 'of 4', file=sys.stderr)\n"


def test_progress_counts_all_frames_and_a_failed_job_runs_once_more_and_is_reported(tmp_path):
    progress: list[tuple[int, int]] = []
    run([make_job(progress_code(4), f"Frames {i}") for i in range(3)], 2, record(progress))
    assert progress == [(number, 12) for number in range(1, 13)]
    marks = tmp_path / "marks"
    work_code = f"open({str(marks)!r}, 'a').write('x')\n" + progress_code(2)
    fails_once = f"{work_code}sys.exit(len(open({str(marks)!r}).read()) < 2)"
    progress.clear()
    run([make_job(fails_once, "Frames 1-4")], 1, record(progress))
    assert marks.read_text() == "xx"
    assert progress == [(1, 4), (2, 4), (2, 4)], "never backwards"
    failing = f"{work_code}print('Error: No chain is left.', file=sys.stderr); sys.exit(1)"
    with pytest.raises(CommandError) as caught:
        run([make_job(failing, "Frames 1-4"), make_job("", "Frames 5-8")], 1, record(progress))
    assert str(caught.value) == "Frames 1-4 could not be solved: No chain is left."
    assert marks.read_text() == "xxxx"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_process_that_fails_ends_the_others_and_is_reported(is_first):
    slow = make_job("import time; time.sleep(60)", "Frames 5-8")
    failing = make_job("import os; os.abort()", "Frames 1-4")
    before = time.monotonic()
    with pytest.raises(CommandError, match="Frames 1-4 could not be solved: signal 6 has ended"):
        run([failing, slow] if is_first else [slow, failing], 2, record([]))
    assert time.monotonic() - before < 30.0


FOLDER = "shot-baked-chunks-2006-01-02_150405"


def parse_task(task: dict[str, Any]) -> list[str]:
    blender, background, scripts, file, *scene, option, name = command_line(task)[:8]
    assert (blender, background, scripts, file) == ("blender", "-b", "-y", bpy.data.filepath)
    assert (scene, option, name) == (["--scene", "Scene"], "-c", "chain_ik")
    return command_line(task)[8:]


def submit_tasks(**changed: object) -> list[dict[str, Any]]:
    options = {"output_path": "shot-baked.blend", "chunk_size": 20, **changed}
    settings = settings_with(blendfile=bpy.data.filepath)
    names = {"bpy": bpy, "C": bpy.context, "Path": Path, "abspath": abspath}
    for setting in compiled(settings)["jobType"]["settings"]:
        if "eval" in setting:
            names["settings"] = SimpleNamespace(**settings)
            settings[setting["key"]] = eval(setting["eval"], {}, names)
    assert Path(settings["output_path"]).name == options.pop("output_path")
    return tasks_of({**settings, **options})


def abspath(path: object) -> Path:
    return Path(os.path.abspath(bpy.path.abspath(str(path))))


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


@needs_node
@lines.needs_module
@pytest.mark.oldest
def test_a_farm_gives_the_keys_of_one_bake_even_if_a_chunk_and_the_merge_are_killed(tmp_path):
    lines.make_varied_scene()
    for name, settings in (("Eased", {"use_gradual": True, "ease": 0.25}), ("Pulled", {})):
        _, target, chain = make_pulled(4, name=name)
        set_forces(chain, **settings)
        rigs.key(target, "location", {1: (1.8, 2.0, 1.5), lines.LAST: (-1.0, 1.5, 2.5)})
    chain.start_from = "CURRENT"
    (tmp_path / "work").mkdir()
    file = lines.save(tmp_path / "work" / "shot.blend")
    before, output, folder = file.read_bytes(), file.with_name("shot-baked.blend"), file.parent
    tasks = {task["name"]: parse_task(task) for task in submit_tasks(chunk_size=lines.LAST // 2)}
    assert [*tasks] == ["whole", "frames 1 to 6", "frames 7 to 12", "merge"]

    with lines.start_process("-y", file, *tasks["frames 7 to 12"]) as process:
        lines.wait_for_line(process, "frame 1 of 6")
        process.kill()
    for name, arguments in tasks.items():
        if name == "merge":
            with lines.start_process("-y", file, *arguments) as process:
                # Wait until the first output file appears.
                while process.poll() is None and not [
                    *folder.glob(".shot-baked*"),
                    *folder.glob(output.name),
                ]:
                    time.sleep(0.005)
                process.kill()
            assert not output.exists() or len(lines.read_bake(output)) == 7
        lines.open_file(file)
        assert lines.run(*arguments) == 0
    assert names_in(folder) == {"shot.blend", output.name, "shot-baked-report.json", FOLDER}
    assert names_in(folder / FOLDER) == {f"{name.replace(' ', '_')}.npz" for name in [*tasks][:-1]}
    one, report = tmp_path / "one.blend", tmp_path / "one.json"
    lines.open_file(file)
    assert lines.run("bake", "--output", one, "--report", report) == 3
    assert (folder / "shot-baked-report.json").read_bytes() == report.read_bytes()
    baked = lines.read_bake(output)
    assert len(baked) == 7
    assert all(len(keys) > 5 for keys, *_ in baked.values())
    assert baked == lines.read_bake(one)
    assert file.read_bytes() == before
