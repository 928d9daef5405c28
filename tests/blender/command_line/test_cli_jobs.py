"""Frames solved in parts, by several processes, machines or a farm: joined, they are as of one."""

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
from tests.blender.setups.pulled_rigs import give, make_pulled
from tests.flamenco import command_line, compiled, needs_node, settings_with, tasks_of

pytestmark = pytest.mark.slow
WHOLE = ("--frames", f"1-{lines.LAST}")


@pytest.fixture
def file(tmp_path):
    lines.make_scene(2)
    return lines.save(tmp_path / "scene.blend")


def refusal(capfd, *arguments: object) -> str:
    capfd.readouterr()
    assert lines.command(*arguments) == 1
    return capfd.readouterr().err.splitlines()[-1].removeprefix("Error: ")


def make_chunks(file: Path, *ranges: str, options: tuple[object, ...] = ()) -> list[Path]:
    found = []
    for text in ranges:
        lines.opened(file)
        found.append(file.with_name(f"{text}.npz"))
        assert lines.command("chunk", f"--frames={text}", "--output", found[-1], *options) == 0
    lines.opened(file)
    return found


def children_of(process) -> list[int]:
    path = Path(f"/proc/{process.pid}/task")
    texts = [(each / "children").read_text() for each in path.iterdir()]
    return [int(pid) for text in texts for pid in text.split()]


@lines.needs_module
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_three_processes_of_which_one_is_killed_give_what_one_gives_to_the_last_bit(tmp_path):
    lines.make_scene()
    lines.make_rope("Rope", 6.0)
    bpy.context.scene.frame_end = last = 40
    file = lines.save(tmp_path / "scene.blend")
    before = file.read_bytes()
    to_one, to_three = (
        ("--output", tmp_path / f"{name}.blend", "--report", tmp_path / f"{name}.json")
        for name in ("one", "three")
    )
    code = lines.command("bake", *to_one, *lines.CLIP)
    with lines.start(file, "bake", *to_three, *lines.CLIP, "--jobs", 2) as process:
        lines.wait_for_line(process, "frame 2 of")
        # It is started once more.
        os.kill(children_of(process)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (code, ""), err
    assert f"frame {2 * last} of {2 * last}" in err.splitlines()
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "three.json").read_bytes()
    one, three = (lines.contents(tmp_path / f"{name}.blend") for name in ("one", "three"))
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
    assert lines.command("bake", "--output", whole, "--report", "-", *method, *keying) == 0
    texts = [capfd.readouterr().out]
    chunks = make_chunks(file, "9-12", "1-3", "4-8", options=method)
    for order in (chunks, sorted(chunks)):
        lines.opened(file)
        capfd.readouterr()
        assert (
            lines.command("merge", *order, "--output", merged, "--report", "-", *method, *keying)
            == 0
        )
        texts.append(capfd.readouterr().out)
    assert lines.contents(merged) == lines.contents(whole)
    assert file.read_bytes() == before
    if not keying:
        lines.opened(file)
        capfd.readouterr()
        assert lines.command("report") == 0
        texts.append(capfd.readouterr().out)
    assert set(texts) == {texts[0]}


def test_frames_that_are_missing_or_twice_there_are_told(file, capfd):
    output = ("--output", file.with_name("out.blend"))
    first, second, over = make_chunks(file, "1-4", "8-11", "4-7")
    said = refusal(capfd, "merge", first, second, *output)
    assert said == "Frames 5-7, 12 of 'Rig 0' are in no file: run chunk for them first."
    said = refusal(capfd, "merge", first, second, over, *output)
    assert said == f"Frame 4 of 'Rig 0' is in {first} and in {over}: leave one of them out."
    assert not output[1].exists()
    assert lines.command("merge", first, second, *output, "--frames", "2-3,8-11") == 0
    lines.opened(output[1])
    keys = rigs.keys_of(bpy.data.objects["Rig 0"])
    assert {tuple(x for x, _ in each) for each in keys.values()} == {(2, 3, 8, 9, 10, 11)}


def test_chunks_of_other_chains_or_another_file_are_refused(file, capfd):
    output = ("--output", file.with_name("out.blend"))
    (first,) = make_chunks(file, "1-6")
    (arms,) = make_chunks(file, "7-12", options=("--chains", "Arm"))
    assert "hold different chains" in refusal(capfd, "merge", first, arms, *output)
    (one,) = make_chunks(file, "7-12", options=("--armature", "Rig 1"))
    assert "hold different chains" in refusal(capfd, "merge", first, one, *output)
    (report,) = make_chunks(file, "7-12", options=("--report-only",))
    assert "report and no values" in refusal(capfd, "merge", report, *output, "--frames", "7-12")
    said = refusal(capfd, "merge", first, *output, *lines.CLIP)
    assert said.endswith(f"{first.name} holds no notes for a clip: make it with --method clip.")
    bpy.data.objects["Rig 0"].location.x = 1.0
    lines.save(file)
    (second,) = make_chunks(file, "7-12")
    said = refusal(capfd, "merge", first, second, *output)
    assert said == f"{first} was made of another file, or of this one before a change."
    assert not output[1].exists()


def test_a_file_that_is_no_chunk_is_told(file, capfd):
    output = ("--output", file.with_name("out.blend"))
    (chunk,) = make_chunks(file, "1-12")
    torn, text = file.with_name("torn.npz"), file.with_name("text.npz")
    torn.write_bytes(chunk.read_bytes()[:-300])
    text.write_text("no chunk")
    other = file.with_name("other.npz")
    np.savez(other, values=np.zeros(3))
    for path in (torn, text, other):
        said = refusal(capfd, "merge", path, *output)
        assert said == f"{path} is no whole file of chunk: make it again."
    assert "does not exist" in refusal(capfd, "merge", file.with_name("gone.npz"), *output)
    # A chunk makes its folder, but not the one above.
    folder = file.with_name("chunks")
    for name in ("a.npz", "b.npz"):
        assert lines.command("chunk", "--frames", 1, "--output", folder / name) == 0
    assert {each.name for each in folder.iterdir()} == {"a.npz", "b.npz"}
    wrong = file.with_name("wrong")
    said = refusal(capfd, "chunk", "--output", wrong / "chunks" / "a.npz")
    assert said == f"The folder {wrong / 'chunks'} does not exist: make it first."
    assert not wrong.exists()


def test_chains_that_go_on_are_played_from_the_first_frame_or_refused(tmp_path, capfd):
    lines.make_scene()
    lines.make_rope("Rope", 6.0)
    file = lines.save(tmp_path / "scene.blend")
    whole, merged = tmp_path / "whole.blend", tmp_path / "merged.blend"
    assert lines.command("bake", "--output", whole) in (0, 3)
    first, second = make_chunks(file, "1-6", "7-12")
    said = refusal(capfd, "merge", first, second, "--output", merged)
    assert said.endswith("begins at frame 7 instead of 1: make it with --from 1.")
    (second,) = make_chunks(file, "7-12", options=("--from", 1))
    assert lines.command("merge", first, second, "--output", merged) in (0, 3)
    assert lines.contents(merged) == lines.contents(whole)
    # Or the rope whole, and the others in parts.
    free = make_chunks(file, "1-6", "7-12", options=("--only", "independent"))
    assert "'Rope' is in none of the files" in refusal(capfd, "merge", *free, "--output", merged)
    rope = make_chunks(file, "1-12", options=("--only", "dependent"))
    assert lines.command("merge", *free, *rope, "--output", merged) in (0, 3)
    assert lines.contents(merged) == lines.contents(whole)


@pytest.mark.parametrize("name", ["only ropes", "no ropes"])
def test_a_chunk_for_which_there_is_nothing_is_merged_as_well(tmp_path, name):
    if name == "only ropes":
        lines.make_rope("Rope", 6.0)
        bpy.context.scene.frame_end = lines.LAST
    else:
        lines.make_scene()
    file = lines.save(tmp_path / "scene.blend")
    whole, merged = tmp_path / "whole.blend", tmp_path / "merged.blend"
    assert lines.command("bake", "--output", whole) in (0, 3)
    lines.opened(file)
    chunks = [tmp_path / f"{kind}.npz" for kind in ("independent", "dependent")]
    for chunk in chunks:
        assert lines.command("chunk", *WHOLE, "--only", chunk.stem, "--output", chunk) == 0
    assert lines.command("merge", *chunks, *WHOLE, "--output", merged) in (0, 3)
    assert lines.contents(merged) == lines.contents(whole)


@lines.needs_module
def test_frames_that_cannot_be_solved_are_told_by_the_one_that_shares_them_out(
    file, capfd, monkeypatch
):
    # That it tries again is shown above.
    monkeypatch.setattr(jobs, "MAX_ATTEMPTS", 1)
    bpy.data.objects["Rig 1"].chain_ik.chains["Arm"].target = None
    lines.save(file)
    output = file.with_name("out.blend")
    said = refusal(capfd, "bake", "--output", output, "--jobs", 2)
    assert said.startswith("Frames ")
    assert "could not be solved: 'Rig 1': Chain 'Arm' cannot be baked at frame " in said
    assert {each.name for each in file.parent.iterdir()} == {"scene.blend"}


@lines.needs_module
def test_a_bake_that_is_killed_leaves_the_file_and_can_be_run_again(tmp_path):
    lines.make_scene()
    bpy.context.scene.frame_end = 200
    file = lines.save(tmp_path / "scene.blend")
    before = file.read_bytes()
    with lines.start(file, "bake", "--overwrite", "--jobs", 2) as process:
        lines.wait_for_line(process, "frame 2 of 200")
        children = children_of(process)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    for child in children:
        wait_for_end(child)
    assert file.read_bytes() == before
    assert {each.name for each in tmp_path.iterdir()} == {"scene.blend"}
    lines.opened(file)
    assert lines.command("bake", "--overwrite", "--frames", "1-20") == 0
    lines.opened(file)
    assert all(len(keys) == 20 for keys in rigs.keys_of(bpy.data.objects["Rig 0"]).values())


@lines.needs_module
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize(("compress", "destination"), [(False, "--overwrite"), (True, "--output")])
def test_a_full_disk_leaves_what_was_there(tmp_path, destination, compress):
    """Blender takes a compressed file for saved that ends where the disk was full."""
    import resource

    lines.make_scene(2)
    file = lines.save(tmp_path / "scene.blend", compress=compress)
    room = len(file.read_bytes()) // 2

    def give_little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    output = file.with_name("out.blend")
    output.write_bytes(b"what was there")
    where = ("--overwrite",) if destination == "--overwrite" else ("--output", output)
    before = file.read_bytes()
    with lines.start(file, "bake", *where, preexec_fn=give_little_room) as process:
        _, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    assert "could not be saved whole: make room on the disk" in err.splitlines()[-1]
    assert (file.read_bytes(), output.read_bytes()) == (before, b"what was there")
    assert {each.name for each in file.parent.iterdir()} == {"scene.blend", "out.blend"}


def wait_for_end(pid: int) -> None:
    """Wait until a process whose parent is gone has ended by itself."""
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


def python(code: str, name: str, count: int = 4) -> Job:
    return Job([sys.executable, "-c", code], name, count)


def tell(told: list[tuple[int, int]]):
    return lambda number, total: told.append((number, total))


def frames_said(count: int) -> str:
    return f"import sys\nfor i in range({count}): print('frame', i + 1, 'of 4', file=sys.stderr)\n"


def test_progress_counts_the_frames_of_all_and_what_fails_is_run_once_more_and_told(tmp_path):
    told: list[tuple[int, int]] = []
    run([python(frames_said(4), f"Frames {i}") for i in range(3)], 2, tell(told))
    assert told == [(number, 12) for number in range(1, 13)]
    marks = tmp_path / "marks"
    fails = f"open({str(marks)!r}, 'a').write('x')\n" + frames_said(2)
    once = f"{fails}sys.exit(len(open({str(marks)!r}).read()) < 2)"
    told.clear()
    run([python(once, "Frames 1-4")], 1, tell(told))
    assert marks.read_text() == "xx"
    assert told == [(1, 4), (2, 4), (2, 4)], "never backwards"
    always = f"{fails}print('Error: No chain is left.', file=sys.stderr); sys.exit(1)"
    with pytest.raises(CommandError) as caught:
        run([python(always, "Frames 1-4"), python("", "Frames 5-8")], 1, tell(told))
    assert str(caught.value) == "Frames 1-4 could not be solved: No chain is left."
    assert marks.read_text() == "xxxx"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_process_that_fails_ends_the_others_and_is_the_one_that_is_told(is_first):
    slow = python("import time; time.sleep(60)", "Frames 5-8")
    failing = python("import os; os.abort()", "Frames 1-4")
    before = time.monotonic()
    with pytest.raises(CommandError, match="Frames 1-4 could not be solved: signal 6 has ended"):
        run([failing, slow] if is_first else [slow, failing], 2, tell([]))
    assert time.monotonic() - before < 30.0


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
@lines.needs_module
@pytest.mark.oldest
def test_a_farm_gives_the_keys_of_one_bake_though_a_chunk_and_the_merge_are_killed(tmp_path):
    lines.make_varied_scene()
    for name, settings in (("Eased", {"use_gradual": True, "ease": 0.25}), ("Pulled", {})):
        _, target, chain = make_pulled(4, name=name)
        give(chain, **settings)
        rigs.key(target, "location", {1: (1.8, 2.0, 1.5), lines.LAST: (-1.0, 1.5, 2.5)})
    chain.start_from = "CURRENT"
    (tmp_path / "work").mkdir()
    file = lines.save(tmp_path / "work" / "shot.blend")
    before, output, folder = file.read_bytes(), file.with_name("shot-baked.blend"), file.parent
    tasks = {task["name"]: arguments_of(task) for task in submitted(chunk_size=lines.LAST // 2)}
    assert [*tasks] == ["whole", "frames 1 to 6", "frames 7 to 12", "merge"]

    with lines.start("-y", file, *tasks["frames 7 to 12"]) as process:
        lines.wait_for_line(process, "frame 1 of 6")
        process.kill()
    for name, arguments in tasks.items():
        if name == "merge":
            with lines.start("-y", file, *arguments) as process:
                # Until the first of what is asked for is written.
                while process.poll() is None and not [
                    *folder.glob(".shot-baked*"),
                    *folder.glob(output.name),
                ]:
                    time.sleep(0.005)
                process.kill()
            assert not output.exists() or len(lines.contents(output)) == 7
        lines.opened(file)
        assert lines.command(*arguments) == 0
    assert seen(folder) == {"shot.blend", output.name, "shot-baked-report.json", FOLDER}
    assert seen(folder / FOLDER) == {f"{each.replace(' ', '_')}.npz" for each in [*tasks][:-1]}
    one, report = tmp_path / "one.blend", tmp_path / "one.json"
    lines.opened(file)
    assert lines.command("bake", "--output", one, "--report", report) == 3
    assert (folder / "shot-baked-report.json").read_bytes() == report.read_bytes()
    found = lines.contents(output)
    assert len(found) == 7
    assert all(len(keys) > 5 for keys, *_ in found.values())
    assert found == lines.contents(one)
    assert file.read_bytes() == before
