"""The command line: its solves, files, reports, refusals and exit codes."""

import json
import re
import stat

import bpy
import numpy as np
import pytest

from blender_ik_addon.cli.program import run as run_program
from blender_ik_addon.core import JointKind
from tests.blender.command_line import command_lines as lines
from tests.blender.joints.test_limits_held import limit
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import assign_action

FAR = (9.0, 0.0, 0.0)


@pytest.fixture
def file(tmp_path):
    """A saved file with a tail and an arm that reach their targets at all of twelve frames."""
    lines.make_scene()
    return lines.save(tmp_path / "scene.blend")


def run(capfd, *arguments: object) -> tuple[int, str, str]:
    capfd.readouterr()
    code = lines.run(*arguments)
    written = capfd.readouterr()
    return code, written.out, written.err


def refusal(capfd, code: int, *arguments: object) -> str:
    """Return the one error sentence of a command that exits with a code and prints nothing else."""
    exit_code, out, err = run(capfd, *arguments)
    errors = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert (exit_code, out, len(errors)) == (code, "", 1), err
    text = errors[0].removeprefix("Error: ")
    assert re.fullmatch(r"\S.*[^.]\.", text), text
    assert ". " not in text, f"not one sentence: {text!r}"
    return text


def names(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_report_has_what_blender_shows_for_every_chain_at_every_frame(file, capfd):
    ob = bpy.data.objects["Rig 0"]
    code, out, _ = run(capfd, "report")
    assert code == 0
    report = json.loads(out)
    assert report["file"] == str(file)
    assert report["blender"] == bpy.app.version_string
    assert report["frames"] == list(range(1, lines.LAST + 1))
    assert report["all_reached"] is True
    tail, arm = report["chains"]
    assert (tail["armature"], tail["chain"]) == ("Rig 0", "Bone")
    assert tail["bones"] == ["Bone.0", "Bone.1", "Bone.2", "Bone.3"]
    assert arm["bones"] == ["Arm.0", "Arm.1"]
    for chain, tip in ((tail, "Bone.3"), (arm, "Arm.1")):
        target = bpy.data.objects[f"Rig 0 {tip} Target"]
        for result in chain["results"]:
            graph = rigs.go_to(result["frame"])
            gap = np.linalg.norm(rigs.tail(ob, tip, graph) - rigs.position(target, graph))
            assert abs(result["residual"] - gap) < 3e-6
            assert (result["code"], result["reached"]) == ("REACHED", True)
            assert result["text"].startswith("Reached")
            assert isinstance(result["iterations"], int)
            assert result["limits_hit"] == []


def test_a_report_counts_constraints_that_move_a_tip_off_its_target(file, capfd):
    ob, target = bpy.data.objects["Rig 0"], bpy.data.objects["Rig 0 Arm.1 Target"]
    rigs.change(ob.pose.bones["Arm.1"].constraints.new("COPY_ROTATION"), target=target)
    code, out, _ = run(capfd, "report", "--frames", "2")
    (result,) = lines.read_results(out)["Arm"]
    graph = rigs.go_to(2)
    gap = np.linalg.norm(rigs.tail(ob, "Arm.1", graph) - rigs.position(target, graph))
    assert (code, result["reached"]) == (3, False)
    assert result["residual"] == pytest.approx(gap, rel=1e-4)
    assert result["text"].startswith("Constraints of Arm.1 act after the chain and leave ")


def test_a_report_tells_why_something_was_not_reached(tmp_path, capfd):
    (ob,) = lines.make_scene()
    for index in range(4):
        limit(ob.pose.bones[f"Bone.{index}"], JointKind.BALL, ((-0.6, 0.6),) * 3)
    far = rigs.make_empty("Far", FAR)
    ob.chain_ik.chains["Arm"].target = far
    rigs.add_bones(ob, rigs.zigzag(2) + np.array([6, 0, 0]), prefix="Leg")
    rigs.add_chain(ob, "Leg.1", None, name="Leg")
    rigs.add_chain(ob, "Leg.0", None, name="Idle", mute=True)
    rigs.add_bones(ob, rigs.zigzag(2) + np.array([9, 0, 0]), prefix="Wing")
    lines.swing(ob, "Wing.1", (9.0, 0.0, 0.0))
    path = f"chain_ik.chains[{ob.chain_ik.chains.find('Wing')}].mute"
    rigs.key(ob, path, {1: False, 5: True})
    path = ob.chain_ik.chains["Arm"].path_from_id("influence")
    rigs.key(ob, path, {1: 0.0, 4: 0.0, 5: 1.0})
    lines.save(tmp_path / "scene.blend")
    code, out, _ = run(capfd, "report", "--frames", "2,7")
    assert code == 3
    assert json.loads(out)["all_reached"] is False
    results = lines.read_results(out)
    tail, arm, leg, wing = (results[name] for name in ("Bone", "Arm", "Leg", "Wing"))
    assert {result["code"] for result in tail} == {"LIMITED"}
    assert all(set(result["limits_hit"]) & {"Bone.1 X", "Bone.0 X"} for result in tail)
    # A chain that is muted or has no influence has nothing to reach.
    assert "Idle" not in results
    assert [(result["code"], result["reached"]) for result in arm] == [
        ("MUTED", None),
        ("EXTENDED", False),
    ]
    base = np.array([3.0, 0.0, 0.0])
    reach = np.linalg.norm(np.diff(rigs.zigzag(2, seed=5), axis=0), axis=1).sum()
    assert abs(arm[1]["residual"] - (np.linalg.norm(FAR - base) - reach)) < 1e-5
    assert {(result["code"], result["reached"], result["residual"]) for result in leg} == {
        ("NOT_SOLVED", False, None)
    }
    assert "choose" in leg[0]["text"]
    assert [(result["code"], result["reached"]) for result in wing] == [
        ("REACHED", True),
        ("MUTED", None),
    ]


@pytest.mark.parametrize(
    ("text", "frames"),
    [("7", [7]), ("3-5", [3, 4, 5]), ("10, 2,4-6,5", [2, 4, 5, 6, 10]), ("-2-1", [-2, -1, 0, 1])],
)
def test_frames_are_ranges_and_lists(file, capfd, text, frames):
    code, out, _ = run(capfd, "report", f"--frames={text}")
    assert (code, json.loads(out)["frames"]) == (0, frames)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["report", "--frames", "5-1"],
        ["report", "--frames", "one"],
        ["report", "--frames", "1-9999999"],
        ["bake", "--overwrite", "--step", "0"],
        ["bake", "--overwrite", "--tolerance", "nan"],
        ["bake", "--overwrite", "--smoothness", "2"],
        ["bake", "--overwrite", "--method", "best"],
        ["report", "--jobs", "0"],
        ["bake"],
        ["bake", "--output", "x.blend", "--overwrite"],
        ["merge", "--overwrite"],
        ["chunk"],
    ],
)
def test_wrong_usage_ends_with_2(file, capfd, arguments):
    code, out, err = run(capfd, *arguments)
    assert (code, out) == (2, "")
    assert "usage:" in err
    code, out, _ = run(capfd, "--help")
    assert code == 0
    assert "3 a target was not reached" in " ".join(out.split())


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("--jobs", "two", "a whole number of 1 or more"),
        ("--step", "1.5", "a whole number of 1 or more"),
        ("--from", "start", "a frame from"),
        ("--from", "9999999", "a frame from"),
        ("--tolerance", "inf", "a number of 0 or more"),
        ("--smoothness", "much", "a number from 0 to 1"),
    ],
)
def test_a_wrong_number_is_answered_with_the_numbers_to_give(file, capfd, option, text, words):
    code, _, err = run(capfd, "bake", "--overwrite", option, text)
    assert code == 2
    assert f"error: argument {option}: '{text}' is not {words}" in err


def test_smoothness_without_a_clip_is_not_ignored(file, capfd):
    before = file.read_bytes()
    assert "--method clip" in refusal(capfd, 2, "bake", "--overwrite", "--smoothness", "0.9")
    assert file.read_bytes() == before


def test_the_open_file_is_written_only_with_overwrite(file, capfd):
    before = file.read_bytes()
    link = file.with_name("link.blend")
    link.symlink_to(file)
    for output in (file, link, file.parent / "." / "scene.blend"):
        assert "--overwrite" in refusal(capfd, 2, "bake", "--output", output)
        assert "--overwrite" in refusal(capfd, 2, "chunk", "--output", output)
        assert "choose another for the report" in refusal(capfd, 2, "report", "--report", output)
    assert file.read_bytes() == before
    file.chmod(0o640)
    assert run(capfd, "bake", "--overwrite")[0] == 0
    assert file.read_bytes() != before
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert names(file.parent) == {"scene.blend", "link.blend"}
    lines.open_file(file)
    assert all(chain.mute for chain in bpy.data.objects["Rig 0"].chain_ik.chains)


def test_files_that_are_read_or_read_only_are_not_replaced(file, capfd, tmp_path):
    library, shot, chunk = (tmp_path / name for name in ("lib.blend", "shot.blend", "a.npz"))
    bpy.data.texts.new("Notes")
    lines.save(library)
    lines.open_file(file)
    with bpy.data.libraries.load(str(library), link=True, relative=True) as (_, wanted):
        wanted.texts = ["Notes"]
    lines.save(shot)
    assert run(capfd, "chunk", "--output", chunk)[0] == 0
    before = library.read_bytes(), chunk.read_bytes()
    for arguments in (
        ("bake", "--output", library),
        ("report", "--report", library),
        ("chunk", "--output", library),
        ("merge", chunk, "--output", chunk),
    ):
        assert "choose another file" in refusal(capfd, 2, *arguments)
    assert before == (library.read_bytes(), chunk.read_bytes())
    for locked, arguments in (
        (shot, ("bake", "--overwrite")),
        (file, ("bake", "--output", file)),
        (chunk, ("chunk", "--output", chunk)),
    ):
        before_lock = locked.read_bytes()
        locked.chmod(0o444)
        assert "read-only" in refusal(capfd, 1, *arguments)
        assert locked.read_bytes() == before_lock


@pytest.mark.parametrize("compress", [False, True])
def test_a_file_stays_compressed_or_not_and_finds_what_it_refers_to(file, capfd, compress):
    (file.parent / "sub").mkdir()
    picture = bpy.data.images.new("Picture", 4, 4)
    picture.filepath, picture.source = "//picture.png", "FILE"
    picture.use_fake_user = True
    lines.save(file, compress=compress)
    output = file.parent / "sub" / "out.blend"
    assert run(capfd, "bake", "--output", output)[0] == 0
    assert (output.read_bytes()[:7] != b"BLENDER") is compress
    lines.open_file(output)
    assert bpy.data.images["Picture"].filepath == "//../picture.png"


def test_a_chain_that_cannot_be_solved_or_moves_nothing_stops_a_bake_and_nothing_is_written(
    file, capfd
):
    bpy.data.objects["Rig 0"].chain_ik.chains["Arm"].target = None
    lines.save(file)
    output = file.with_name("out.blend")
    message = refusal(capfd, 1, "bake", "--output", output)
    assert message.startswith("'Rig 0': Chain 'Arm' cannot be baked at frame 1: ")
    assert names(file.parent) == {"scene.blend"}
    bpy.data.objects["Rig 0"].chain_ik.chains["Arm"].tolerance = np.inf
    assert run(capfd, "bake", "--output", output, "--keep-live", "--chains", "Bone")[0] == 0
    lines.open_file(output)
    ob = bpy.data.objects["Rig 0"]
    assert [chain.mute for chain in ob.chain_ik.chains] == [False, False]
    assert {path.split('"')[1] for path, _ in rigs.keys_of(ob)} == {f"Bone.{i}" for i in range(4)}
    lines.open_file(file)
    bpy.data.objects["Rig 0"].chain_ik.chains["Arm"].bone = "Gone"
    lines.save(file)
    gone = "'Rig 0': Chain 'Arm' cannot be baked: Bone 'Gone' no longer exists"
    for command in ("bake", "chunk"):
        assert gone in refusal(capfd, 1, command, "--output", output.with_name("gone"))
    lines.open_file(file)
    bpy.data.objects["Rig 0"].chain_ik.chains["Arm"].bone = "Bone.1"
    bpy.data.objects["Rig 0"].data.pose_position = "REST"
    lines.save(file)
    why, other = "Not solved: the armature shows its rest position", file.with_name("other.blend")
    assert f"moves nothing in this range: {why}" in refusal(capfd, 1, "bake", "--output", other)
    code, out, _ = run(capfd, "report", "--chains", "Bone")
    assert (code, {result["text"] for result in lines.read_results(out)["Bone"]}) == (3, {why})


@pytest.mark.parametrize("how", ["hidden", "excluded"])
@pytest.mark.parametrize("method", [(), lines.CLIP], ids=["frames", "clip"])
def test_an_armature_that_is_not_shown_stops_a_bake_with_its_name_and_the_rest_can_be_baked(
    how, method, tmp_path, capfd
):
    _, absent = lines.make_scene(2)
    if how == "hidden":
        absent.hide_viewport = True
    else:
        scene, collection = bpy.context.scene, bpy.data.collections.new("Excluded")
        scene.collection.children.link(collection)
        collection.objects.link(absent)
        scene.collection.objects.unlink(absent)
        bpy.context.view_layer.layer_collection.children["Excluded"].exclude = True
    lines.save(tmp_path / "scene.blend")
    bake = ("bake", *method, "--output", tmp_path / "out.blend")
    lines.open_file(tmp_path / "scene.blend")
    why = "moves nothing in this range: Not solved: the armature is hidden, or not in this view"
    assert refusal(capfd, 1, *bake).startswith(f"'Rig 1': Chain 'Bone' {why} layer")
    assert names(tmp_path) == {"scene.blend"}
    assert run(capfd, *bake, "--armature", "Rig 0", "--accept-unreached")[0] == 0


def test_patterns_choose_chains_and_armatures(tmp_path, capfd):
    lines.make_scene(3)
    bpy.data.objects["Rig 1"].chain_ik.chains["Arm"].name = "Arm [old]"
    lines.save(tmp_path / "scene.blend")

    def find_chosen(*arguments):
        code, out, _ = run(capfd, "report", "--frames", "2", *arguments)
        assert code == 0
        return [(chain["armature"][-1], chain["chain"]) for chain in json.loads(out)["chains"]]

    assert find_chosen("--chains", "Arm*") == [("0", "Arm"), ("1", "Arm [old]"), ("2", "Arm")]
    assert find_chosen("--chains", "Arm [old]") == [("1", "Arm [old]")]
    assert find_chosen("--armature", "Rig [12]", "--chains", "Arm", "--chains", "B*") == [
        *[("1", "Bone"), ("2", "Bone"), ("2", "Arm")]
    ]
    message = refusal(capfd, 1, "report", "--chains", "Arm*", "--chains", "Leg*")
    assert message == "No chain matches 'Leg*': the chains are 'Bone', 'Arm', 'Arm [old]'."
    assert "No armature object with chains matches 'X'" in refusal(
        capfd, 1, "report", "--armature", "X"
    )
    for ob in (bpy.data.objects[f"Rig {i}"] for i in range(3)):
        rigs.set_each(ob.chain_ik.chains, mute=True)
    assert "unmute" in refusal(capfd, 1, "report")


def test_other_bad_input_gives_one_clear_sentence(file, capfd, tmp_path):
    output = tmp_path / "none" / "out.blend"
    assert "does not exist: make it first" in refusal(capfd, 1, "bake", "--output", output)
    assert "is a folder" in refusal(capfd, 2, "bake", "--output", tmp_path)
    output = tmp_path / "out.blend"
    assert "start there or before" in refusal(capfd, 2, "report", "--frames", "3", "--from", "4")
    assert "use bake for more" in refusal(capfd, 2, "solve", "--frames", "1-2", "--output", output)
    bpy.context.scene.chain_ik.use_live = False
    assert "turn it on first" in refusal(capfd, 1, "report")
    bpy.context.scene.chain_ik.use_live = True
    ob = bpy.data.objects["Rig 0"]
    ob.animation_data_create().action = bpy.data.actions.new("Blended")
    ob.animation_data.action_influence = 0.5
    assert "influence of 1" in refusal(capfd, 1, "bake", "--output", output)
    ob.chain_ik.chains.clear()
    assert "has no chains" in refusal(capfd, 1, "report")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert "No file is open" in refusal(capfd, 2, "report")
    assert names(tmp_path) == {"scene.blend"}


def test_rigs_that_share_an_action_are_not_baked_over_each_other(tmp_path, capfd):
    lines.make_scene(2)
    one, other = (bpy.data.objects[f"Rig {i}"] for i in range(2))
    rigs.key_bones(one)
    assign_action(other, one.animation_data.action)
    lines.save(tmp_path / "scene.blend")
    output = tmp_path / "out.blend"
    message = refusal(capfd, 1, "bake", "--output", output)
    assert "'Rig 0' and 'Rig 1' share the action" in message
    assert run(capfd, "bake", "--output", output, "--armature", "Rig 0")[0] == 0


def test_solve_saves_the_pose_of_a_frame(file, capfd):
    output = file.with_name("out.blend")
    code, out, _ = run(capfd, "solve", "--frames", "6", "--output", output, "--report", "-")
    assert (code, [result["frame"] for result in lines.read_results(out)["Arm"]]) == (0, [6])
    scene = lines.open_file(output)
    ob = bpy.data.objects["Rig 0"]
    assert scene.frame_current == 6
    assert not rigs.keys_of(ob)
    assert [chain.mute for chain in ob.chain_ik.chains] == [False, False]
    saved = rigs.rotations(ob)
    lines.open_file(file)
    rigs.go_to(6)
    assert saved == rigs.rotations(bpy.data.objects["Rig 0"])
    rigs.go_to(9)
    lines.save(file)
    _, out, _ = run(capfd, "solve", "--report", "-")
    assert [result["frame"] for result in lines.read_results(out)["Arm"]] == [9]
    assert run(capfd, "solve", "--frames", "2-5")[0] == 0


@pytest.mark.parametrize("is_far", [False, True])
def test_every_command_ends_with_one_line_that_says_what_was_done(file, capfd, is_far):
    if is_far:
        target = bpy.data.objects["Rig 0"].chain_ik.chains["Arm"].target
        target.animation_data_clear()
        target.location = FAR
        lines.save(file)
    out, chunk, report = (file.parent / name for name in ("out.blend", "chunk.npz", "report.json"))
    range_text = f"at frames 1-{lines.LAST}"
    commands = {
        ("solve",): "Solved 2 chains at frame 1.",
        ("solve", "--frames", 3, "--output", out): f"Solved 2 chains at frame 3 into {out}.",
        ("report",): f"Reported 2 chains at frames 1-{lines.LAST}.",
        (
            "report",
            "--report",
            report,
        ): f"Reported 2 chains at frames 1-{lines.LAST} into {report}.",
        ("chunk", "--output", chunk): f"Solved 2 chains at frames 1-{lines.LAST} into {chunk}.",
        ("merge", chunk, "--output", out): f"Merged 2 chains at frames 1-{lines.LAST} into {out}.",
        ("bake", "--chains", "Bone", "--overwrite"): f"Baked 1 chain {range_text} into {file}.",
    }
    for arguments, text in commands.items():
        lines.open_file(file)
        code, printed, err = run(capfd, *arguments)
        # Only a report without a file is printed.
        assert printed.count("\n") == (arguments == ("report",))
        frames = [line for line in err.splitlines() if line.startswith("frame ")]
        if "solve" not in arguments and "merge" not in arguments:
            assert frames == [f"frame {i} of {lines.LAST}" for i in range(1, lines.LAST + 1)]
        is_missed = is_far and arguments[0] != "bake"
        assert code == (3 if is_missed and arguments[0] != "chunk" else 0)
        if is_missed and arguments[0] != "chunk":
            lines.open_file(file)
            assert run(capfd, *arguments, "--accept-unreached")[0] == 0
        texts = [line for line in err.splitlines() if line.startswith(text.split()[0])]
        assert texts == [text + (" Chains that missed their targets: 1 of 2." if is_missed else "")]


@pytest.mark.slow
@lines.needs_module
def test_the_program_prints_what_the_command_does_and_refuses_other_kinds_of_files(file, capfd):
    before = file.read_bytes()
    code, out, _ = run(capfd, "report", "--chains", "Bone")
    assert lines.run_process(file, "report", "--chains", "Bone")[:2] == (code, out)
    assert file.read_bytes() == before
    text = file.with_name("text.blend")
    text.write_text("no file of Blender")
    for path, reason in (
        (text, "This Blender cannot read"),
        (file.with_name("gone.blend"), "does not exist"),
    ):
        assert run_program([str(path), "report"], "program", takes_file=True) == 1
        out, err = capfd.readouterr()
        assert out == ""
        assert reason in err.splitlines()[-1]
        assert "Traceback" not in err
