// SPDX-License-Identifier: GPL-3.0-or-later

// A job type for Flamenco: chains become keys, and many workers share the frames. docs/farm.md
// says how to install it.

const JOB_TYPE = {
    label: "Chain IK Bake",
    settings: [
        { key: "frames", type: "string", required: true,
          eval: "f'{C.scene.frame_start}-{C.scene.frame_end}'",
          evalInfo: { showLinkButton: true, description: "Scene frame range" },
          description: "Frames to key, such as 1-250 or 10,20,30-40" },
        { key: "chunk_size", type: "int32", default: 50, propargs: { min: 1 }, visible: "submission",
          description: "Frames that one task solves. Chains that go on from frame to frame are solved whole" },
        { key: "chains", type: "string", default: "", visible: "submission",
          description: "Only chains of these names, such as Arm*, Spine. All if it is empty" },
        { key: "armatures", type: "string", default: "", visible: "submission",
          description: "Only armature objects of these names, such as Crowd*. All if it is empty" },
        { key: "method", type: "string", default: "frames", visible: "submission",
          choices: ["frames", "clip"],
          description: "Key each frame as it plays, or see all of them together" },
        { key: "smoothness", type: "float", default: 0.5, propargs: { min: 0, max: 1 }, visible: "submission",
          description: "Of a clip, from 0, which changes frames around jumps only, to 1" },
        { key: "output", type: "string", subtype: "file_path", required: true, visible: "submission",
          eval: "f'{Path(bpy.data.filepath).with_suffix(\"\")}-baked.blend' if bpy.data.filepath else ''",
          evalInfo: { description: "Beside this file, with -baked in its name" },
          description: "The .blend file to write. All workers must see its folder" },

        // Set when the job is submitted.
        { key: "output_path", type: "string", subtype: "file_path", required: true, visible: "web",
          eval: "str(abspath(settings.output))", description: "Full path of the file to write" },
        { key: "scene", type: "string", required: true, visible: "web", eval: "C.scene.name",
          description: "Scene whose chains are baked" },
        { key: "blendfile", type: "string", required: true, visible: "web",
          description: "The submitted file, which is never written to" },
    ],
};

// The last frame of Blender.
const LAST_FRAME = 1048574;

// The limit of Windows is 32767 characters; this leaves room for quotes, Blender and the file.
const MAX_COMMAND_LENGTH = 28000;

function compileJob(job) {
    const settings = job.settings;
    const frames = framesOf(settings.frames);
    const output = outputOf(settings);
    const stem = path.join(path.dirname(output), path.stem(output));
    // Each job has a separate folder, so that no job reads files of another.
    const folder = `${stem}-chunks-${formatTimestampLocal(job.created)}`;

    // This chunk takes longest, so it starts first.
    const chunks = [chunkOf("whole", frames, "dependent", folder)];
    for (const part of split(frames, settings.chunk_size)) {
        chunks.push(chunkOf(`frames ${rangeOf(part)}`, part, "independent", folder));
    }
    const isClip = settings.method === "clip";
    const method = isClip ? ["--method=clip"] : [];
    const smoothness = isClip ? [`--smoothness=${settings.smoothness}`] : [];
    const merge = authorTask("merge", settings, ["merge"].concat(chunks.map((chunk) => chunk.file), [
        `--frames=${textOf(frames)}`, "--output", output, "--report", `${stem}-report.json`,
        // Flamenco treats any exit code but 0 as a failure, and would try again.
        "--accept-unreached",
    ], method, smoothness));

    const chosen = patternsOf("--chains", settings.chains)
        .concat(patternsOf("--armature", settings.armatures));
    for (const chunk of chunks) {
        const task = authorTask(chunk.name, settings, [
            "chunk", `--frames=${textOf(chunk.frames)}`, "--only", chunk.only, "--output", chunk.file,
        ].concat(chosen, method));
        merge.addDependency(task);
        job.addTask(task);
    }
    job.addTask(merge);
}

// Use the command of Flamenco that knows path and arguments of Blender on each worker.
function authorTask(name, settings, args) {
    if (args.join(" ").length > MAX_COMMAND_LENGTH) {
        throw "These are too many chunks to merge at once: choose a larger Chunk Size.";
    }
    const task = author.Task(name, "blender");
    task.addCommand(author.Command("blender-render", {
        exe: "{blender}",
        exeArgs: "{blenderArgs}",
        argsBefore: [],
        blendfile: settings.blendfile,
        args: ["--scene", settings.scene, "-c", "chain_ik"].concat(args),
    }));
    return task;
}

function chunkOf(name, frames, only, folder) {
    return { name: name, frames: frames, only: only, file: path.join(folder, `${name.replace(/ /g, "_")}.npz`) };
}

function outputOf(settings) {
    const output = slashed(settings.output_path || "");
    if (!settings.blendfile || !settings.scene) {
        throw "The job names no file or no scene: submit it from Blender.";
    }
    if (!output.endsWith(".blend")) {
        throw `Output '${output}' is no .blend file: let its name end with .blend.`;
    }
    if (!/^(\/|[A-Za-z]:\/|\{)/.test(output)) {
        throw `Output '${output}' is no full path: choose a folder that all workers see.`;
    }
    if (output === slashed(settings.blendfile)) {
        throw "Output is the submitted file itself: choose another name.";
    }
    return output;
}

function slashed(name) {
    return name.replace(/\\/g, "/");
}

// Return arguments for names separated by commas.
function patternsOf(option, text) {
    const names = (text || "").split(",").map((name) => name.trim());
    return names.filter((name) => name !== "").map((name) => `${option}=${name}`);
}

// Return sorted frames without duplicates. Flamenco's frameChunker does not support negative frames.
function framesOf(text) {
    const frames = new Set();
    for (const part of String(text).split(",")) {
        const match = /^\s*(-?\d+)(?:\s*(?:-|\.\.)\s*(-?\d+))?\s*$/.exec(part);
        const first = match ? Number(match[1]) : 1;
        const last = match && match[2] !== undefined ? Number(match[2]) : first;
        if (!match || first > last) {
            throw `'${part}' is not a frame or a range: write 7, 1-250 or 10,20,30-40.`;
        }
        if (Math.max(Math.abs(first), Math.abs(last)) > LAST_FRAME) {
            throw `'${part}' is too far: Blender's frames end at ${LAST_FRAME}.`;
        }
        for (let frame = first; frame <= last; frame++) {
            frames.add(frame);
        }
    }
    return Array.from(frames).sort((a, b) => a - b);
}

function split(frames, size) {
    if (!Number.isInteger(size) || size < 1) {
        throw `A Chunk Size of ${size} makes no chunks: choose a whole number, 1 or more.`;
    }
    const parts = [];
    for (let i = 0; i < frames.length; i += size) {
        parts.push(frames.slice(i, i + size));
    }
    return parts;
}

// Return frames in the short form of the command line.
function textOf(frames) {
    const runs = [];
    for (const frame of frames) {
        const run = runs[runs.length - 1];
        if (run && frame === run[run.length - 1] + 1) {
            run.push(frame);
        } else {
            runs.push([frame]);
        }
    }
    return runs.map((run) => (run.length > 1 ? `${run[0]}-${run[run.length - 1]}` : `${run[0]}`)).join(",");
}

function rangeOf(frames) {
    return `${frames[0]} to ${frames[frames.length - 1]}`.replace(/^(-?\d+) to \1$/, "$1");
}
