// fullik (npm package @aminere/fullik): FABRIK in JavaScript.
//
//     node with_fullik.mjs CASES FOLDER      FOLDER holds its node_modules
//
// The same loops as core_clocks.py and clocks.py, and the same answers as answering.py.
// It computes positions only; no rotations come out.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const [casesFile, folder] = process.argv.slice(2);
const require = createRequire(resolve(folder, "package.json"));
const library = require("@aminere/fullik/build/fik.js");
const FIK = library.Bone3D ? library : library.default;
const cases = JSON.parse(readFileSync(casesFile, "utf8"));

const ITERATIONS = 500;
const [REPEATS, MOST_PASSES] = [5, 6]; // of single solves, as in core_clocks.py
const [LEAST_REPEATS, MOST_REPEATS, SECONDS] = [3, 40, 0.6]; // of a batch, as in clocks.py
const SLACK = 1e-6;
const WARMING_SECONDS = 0.7;

const milliseconds = () => Number(process.hrtime.bigint()) / 1e6;
const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

class FullikSolver {
  constructor(initial) {
    this.initial = initial;
    this.target = new FIK.V3(0, 0, 0);
    this.chain = new FIK.Chain3D();
    for (let i = 0; i + 1 < initial.length; i++) {
      const [start, end] = [new FIK.V3(...initial[i]), new FIK.V3(...initial[i + 1])];
      this.chain.addBone(new FIK.Bone3D(start, end));
    }
    this.chain.maxIteration = ITERATIONS;
    // By default it gives up where an iteration gains less than 0.01.
    this.chain.minIterationChange = 0;
  }

  solve(target, tolerance) {
    const { chain, initial } = this;
    for (let i = 0; i < chain.bones.length; i++) {
      const [start, end] = [initial[i], initial[i + 1]];
      chain.bones[i].start.set(start[0], start[1], start[2]);
      chain.bones[i].end.set(end[0], end[1], end[2]);
    }
    // Else it returns its last pose when a target is asked for twice.
    chain.lastTargetLocation.set(Infinity, Infinity, Infinity);
    chain.solveDistanceThreshold = tolerance;
    chain.solveForTarget(this.target.set(target[0], target[1], target[2]));
  }

  joints() {
    const points = this.chain.bones.map((bone) => [bone.end.x, bone.end.y, bone.end.z]);
    const root = this.chain.bones[0].start;
    return [[root.x, root.y, root.z], ...points];
  }
}

const solvers = new Map();

function solverOf(name, tolerance) {
  if (!solvers.has(name)) {
    const solver = new FullikSolver(cases[name].initial);
    // V8 compiles what runs often: the first solves say nothing.
    const end = milliseconds() + 1e3 * WARMING_SECONDS;
    const { targets } = cases[name];
    for (let i = 0; i < 20 * targets.length && milliseconds() < end; i++) {
      solver.solve(targets[i % targets.length], tolerance);
    }
    solvers.set(name, solver);
  }
  return solvers.get(name);
}

function single({ case: name, tolerance }) {
  const { targets, bones } = cases[name];
  const solver = solverOf(name, tolerance * bones);
  const [medians, begin] = [[], milliseconds()];
  for (let i = 0; i < MOST_PASSES; i++) {
    for (const target of targets) {
      medians.push(solveMilliseconds(solver, target, tolerance * bones));
    }
    if (milliseconds() - begin > 1e3 * SECONDS) break;
  }
  return median(medians);
}

function solveMilliseconds(solver, target, tolerance) {
  const times = [];
  for (let i = 0; i < REPEATS; i++) {
    const start = milliseconds();
    solver.solve(target, tolerance);
    times.push(milliseconds() - start);
  }
  return median(times);
}

function batch({ case: name, tolerance }) {
  const { targets, bones } = cases[name];
  const solver = solverOf(name, tolerance * bones);
  const [times, begin] = [[], milliseconds()];
  while (times.length < MOST_REPEATS) {
    if (times.length >= LEAST_REPEATS && milliseconds() - begin > 1e3 * SECONDS) break;
    const start = milliseconds();
    for (const target of targets) solver.solve(target, tolerance * bones);
    times.push(milliseconds() - start);
  }
  return median(times);
}

function check({ case: name, tolerance }) {
  const { targets, bones } = cases[name];
  const solver = solverOf(name, tolerance * bones);
  let [reached, worst, lengthError] = [0, 0, 0];
  for (const target of targets) {
    solver.solve(target, tolerance * bones);
    const joints = solver.joints();
    const left = distance(joints[bones], target) / bones;
    reached += left <= tolerance * (1 + SLACK);
    worst = Math.max(worst, left);
    for (let i = 0; i < bones; i++) {
      const error = Math.abs(distance(joints[i], joints[i + 1]) - 1) / bones;
      lengthError = Math.max(lengthError, error);
    }
    lengthError = Math.max(lengthError, ...joints[0].map((value) => Math.abs(value) / bones));
  }
  return { reached: reached / targets.length, worst, length_error: lengthError };
}

function versions() {
  const manifest = require.resolve("@aminere/fullik/package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  return { node: process.versions.node, package: version };
}

const tasks = { versions, check, single, batch };
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  console.log(`answer: ${JSON.stringify(tasks[request.task](request))}`);
}
