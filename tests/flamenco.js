// SPDX-License-Identifier: GPL-3.0-or-later

// A stand-in for Flamenco Manager: compiles a job with a job type, as Flamenco's documentation tells.
//
//     node tests/flamenco.js JOB_TYPE.js < job.json
//
// The job has `name`, `type` and `settings`. What is printed has `jobType` and `tasks`, or the `error`
// that a person would read. Flamenco runs scripts strictly, with these globals and none of Node's.

"use strict";

const fs = require("fs");
const posix = require("path").posix;
const vm = require("vm");

const CREATED = Object.freeze({});
let count = 0;

// Both kinds of slashes are understood, and forward ones returned.
const slashed = (name) => name.replace(/\\/g, "/");
const path = {
    basename: (name) => posix.basename(slashed(name)),
    dirname: (name) => posix.dirname(slashed(name)),
    join: (...names) => posix.join(...names.map(slashed)),
    stem: (name) => posix.parse(slashed(name)).name,
};

class Task {
    constructor(name, type) {
        if (!name.trim() || !type.trim()) {
            throw new Error("author.Task(name, type): name and type are required");
        }
        const own = { uuid: `task-${count++}`, name: name.trim(), type: type.trim() };
        Object.assign(this, own, { commands: [], dependencies: [] });
    }

    addCommand(command) {
        this.commands.push(command);
    }

    addDependency(task) {
        this.dependencies.push(task.uuid);
    }
}

const author = {
    Task: (name, type) => new Task(name, type),
    Command: (name, parameters) => ({ name, parameters }),
};

function formatTimestampLocal(time) {
    if (time !== CREATED) {
        throw new Error("formatTimestampLocal(time): not the time of a job");
    }
    return "2006-01-02_150405";
}

function compile(source, submitted) {
    const tasks = [];
    // A task is copied as it is now, so what it gets later is lost.
    const addTask = (task) => tasks.push(JSON.parse(JSON.stringify(task)));
    const nothing = () => undefined;
    const lent = { print: nothing, alert: nothing, formatTimestampLocal, author, path };
    const job = { ...submitted, priority: 50, created: CREATED, addTask };
    const context = vm.createContext({ ...lent, job });
    vm.runInContext("delete globalThis.console;", context);
    vm.runInContext(`"use strict";\n${source}`, context, { filename: process.argv[2] });
    vm.runInContext("compileJob(job);", context);
    const known = tasks.map((task) => task.uuid);
    if (!tasks.every((task) => task.dependencies.every((uuid) => known.includes(uuid)))) {
        throw new Error("a task waits for one that the job does not have");
    }
    return { jobType: vm.runInContext("JOB_TYPE", context), tasks };
}

let answer;
try {
    const submitted = JSON.parse(fs.readFileSync(0, "utf8"));
    answer = compile(fs.readFileSync(process.argv[2], "utf8"), submitted);
} catch (error) {
    answer = { error: String(error) };
}
process.stdout.write(JSON.stringify(answer));
