// Worker with fullik (npm package @aminere/fullik): FABRIK in JavaScript, without rotations.
//
//     node with_fullik.mjs CASES FOLDER      FOLDER holds its node_modules
//
// The loops are those of solvers.py, times and answers those of workers.py.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const [casesFile, folder] = process.argv.slice(2);
const require = createRequire(resolve(folder, "package.json"));
const library = require("@aminere/fullik/build/fik.js");
const FIK = library.Bone3D ? library : library.default;
const cases = JSON.parse(readFileSync(casesFile, "utf8"));

const [ITERATIONS, MAX_PASSES, SLACK] = [500, 30, 1e-6]; // as in solvers.py
const [MIN_REPEATS, MAX_REPEATS, ROUND_SECONDS] = [3, 40, 0.5]; // as in workers.py
const WARM_UP_SECONDS = 0.7;

const milliseconds = () => Number(process.hrtime.bigint()) / 1e6;
const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

function timeRound(work, maxRepeats) {
  const [times, begin] = [[], milliseconds()];
  while (times.length < maxRepeats) {
    if (times.length >= MIN_REPEATS && milliseconds() - begin > 1e3 * ROUND_SECONDS) break;
    const start = milliseconds();
    work(times.length);
    times.push(milliseconds() - start);
  }
  times.sort((a, b) => a - b);
  return (times[(times.length - 1) >> 1] + times[times.length >> 1]) / 2;
}

function makeSolver(initial) {
  const [target, chain] = [new FIK.V3(0, 0, 0), new FIK.Chain3D()];
  for (let i = 0; i + 1 < initial.length; i++) {
    chain.addBone(new FIK.Bone3D(new FIK.V3(...initial[i]), new FIK.V3(...initial[i + 1])));
  }
  chain.maxIteration = ITERATIONS;
  // By default it stops at an iteration that gains less than 0.01.
  chain.minIterationChange = 0;
  const solve = (place, tolerance) => {
    for (let i = 0; i < chain.bones.length; i++) {
      chain.bones[i].start.set(...initial[i]);
      chain.bones[i].end.set(...initial[i + 1]);
    }
    // Otherwise it returns its last pose if the target is the same as before.
    chain.lastTargetLocation.set(Infinity, Infinity, Infinity);
    chain.solveDistanceThreshold = tolerance;
    chain.solveForTarget(target.set(...place));
  };
  const joints = () =>
    [chain.bones[0].start, ...chain.bones.map((bone) => bone.end)].map(({ x, y, z }) => [x, y, z]);
  return { solve, joints };
}

const solvers = new Map();

function prepare({ case: name, tolerance }) {
  const { initial, targets } = cases[name];
  const bones = initial.length - 1;
  if (!solvers.has(name)) {
    const solver = makeSolver(initial);
    // V8 compiles code that runs often, so the first solves are not measured.
    const end = milliseconds() + 1e3 * WARM_UP_SECONDS;
    for (let i = 0; i < 20 * targets.length && milliseconds() < end; i++) {
      solver.solve(targets[i % targets.length], tolerance * bones);
    }
    solvers.set(name, solver);
  }
  return { ...solvers.get(name), targets, bones, absolute: tolerance * bones };
}

function single(request) {
  const { solve, targets, absolute } = prepare(request);
  const work = (number) => solve(targets[number % targets.length], absolute);
  return timeRound(work, MAX_PASSES * targets.length);
}

function batch(request) {
  const { solve, targets, absolute } = prepare(request);
  return timeRound(() => targets.forEach((target) => solve(target, absolute)), MAX_REPEATS);
}

function check(request) {
  const { solve, joints, targets, bones } = prepare(request);
  const gaps = targets.map((target) => {
    solve(target, request.tolerance * bones);
    return distance(joints()[bones], target) / bones;
  });
  const reached = gaps.filter((gap) => gap <= request.tolerance * (1 + SLACK)).length;
  return { reached: reached / targets.length, worst: Math.max(...gaps) };
}

const tasks = { check, single, batch };
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  console.log(`answer: ${JSON.stringify(tasks[request.task](request))}`);
}
