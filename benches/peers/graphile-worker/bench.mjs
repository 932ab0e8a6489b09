// Peer benchmark: how many jobs a second graphile-worker takes through a whole lifecycle on a given PostgreSQL server.
//
// Two modes, each on a fresh schema that is dropped afterwards: "as installed" (no local queue, no batched completion)
// and "tuned" (the batching settings of its own performance page). The procedure is that of its own performance suite:
// add every job with one `add_jobs` call, then run worker processes in "once" mode until the queue is empty.
//
// Never: a job that does anything, a setting the peer's own documentation does not name, a number from a run that left
// a job behind. Start at `measure`; `worker` is the part that runs in each forked worker process.

import { fork } from "node:child_process";
import { createRequire } from "node:module";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Logger, makeWorkerUtils, runOnce } from "graphile-worker";

const VERSION = createRequire(import.meta.url)("graphile-worker/package.json").version;
const TASK = "noop";
// The peer's own suite adds up to this many jobs in one call.
const ADD_BATCH = 1_000_000;
// Long enough for the worker processes to be warm, as a resident worker is.
const WARMUP_JOBS = 2_000;
// The cost of starting and stopping workers on an empty queue is taken off, as the peer's suite does; the smallest of
// these is taken, so that noise can only make the reported rate lower.
const STARTUP_SAMPLES = 3;

const MODES = {
  as_installed: {},
  tuned: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
};

// The peer's default logger writes to standard output, where the result goes.
const logger = new Logger(() => (level, message) => {
  if (level === "error" || level === "warning") console.error(`${level}: ${message}`);
});

/** The preset of one mode; the only settings beyond `MODES` are the two its suite sets in both of its cases. */
function presetOf({ mode, schema, concurrency }) {
  return {
    worker: {
      connectionString: process.env.DATABASE_URL,
      schema,
      logger,
      concurrentJobs: concurrency,
      maxPoolSize: concurrency + 1,
      ...MODES[mode],
    },
  };
}

/** A worker process: at each "go", work until the queue is empty, then say how many jobs were executed. */
function worker(config) {
  let executed = 0;
  const taskList = {
    [TASK]: () => {
      executed += 1;
    },
  };
  process.on("message", async () => {
    executed = 0;
    try {
      await runOnce({ preset: presetOf(config), taskList, noHandleSignals: true });
      process.send({ executed });
    } catch (error) {
      console.error(`worker: ${error.message}`);
      process.exit(1);
    }
  });
  process.on("disconnect", () => process.exit(1));
  process.send({ ready: true });
}

/** The next message of a worker process; rejects if the process ends instead. */
function reply(child) {
  return new Promise((resolve, reject) => {
    const onMessage = (message) => {
      child.off("exit", onExit);
      resolve(message);
    };
    const onExit = (code, signal) => {
      child.off("message", onMessage);
      reject(new Error(`a worker process ended early (${signal ?? `exit code ${code}`})`));
    };
    child.once("message", onMessage);
    child.once("exit", onExit);
  });
}

/** Lets every worker process work the queue to empty once; the clock stops when the table of jobs is empty. */
async function drain(children, client, schema) {
  const start = performance.now();
  const replies = await Promise.all(
    children.map((child) => {
      const answer = reply(child);
      child.send("go");
      return answer;
    }),
  );
  // Without batching, the peer does not wait for its last completions before it says that it is done.
  const deadline = performance.now() + 10_000;
  let left = await queued(client, schema);
  while (left > 0 && performance.now() < deadline) {
    await setTimeout(1);
    left = await queued(client, schema);
  }
  expect("jobs left in the queue", left, 0);
  return {
    seconds: (performance.now() - start) / 1000,
    executed: replies.reduce((sum, { executed }) => sum + executed, 0),
  };
}

/** Adds jobs by the same SQL function and in the same shape as the peer's own suite. */
async function addJobs(client, schema, count) {
  const start = performance.now();
  for (let first = 0; first < count; first += ADD_BATCH) {
    const specs = [];
    for (let id = first; id < Math.min(first + ADD_BATCH, count); id += 1) {
      specs.push({ identifier: TASK, payload: { id } });
    }
    await client.query(
      `select 1 from ${schema}.add_jobs(array(
         select json_populate_recordset(null::${schema}.job_spec, $1::json)))`,
      [JSON.stringify(specs)],
    );
  }
  return (performance.now() - start) / 1000;
}

async function queued(client, schema) {
  const { rows } = await client.query(`select count(*)::int as n from ${schema}._private_jobs`);
  return rows[0].n;
}

function expect(what, actual, wanted) {
  if (actual !== wanted) throw new Error(`${what}: ${actual} instead of ${wanted}`);
}

/** One mode, from a fresh schema to its rates. */
async function measure(mode, { jobs, processes, concurrency, analyze, interrupted }) {
  // Only letters, digits and underscores, so it needs no quoting.
  const schema = `peer_graphile_worker_${mode}_${process.pid}`;
  const config = { mode, schema, concurrency };
  // This also installs the peer's schema.
  const utils = await makeWorkerUtils({ preset: presetOf(config) });
  const children = [];
  const stop = () => children.forEach((child) => child.kill());
  interrupted.addEventListener("abort", stop);
  try {
    for (let i = 0; i < processes; i += 1) {
      children.push(
        fork(fileURLToPath(import.meta.url), ["--worker", JSON.stringify(config)], {
          // Its suite switches off the log line per job in the same way.
          env: { ...process.env, NO_LOG_SUCCESS: "1" },
        }),
      );
    }
    await Promise.all(children.map(reply));

    return await utils.withPgClient(async (client) => {
      await addJobs(client, schema, WARMUP_JOBS);
      expect("jobs executed in the warm-up", (await drain(children, client, schema)).executed, WARMUP_JOBS);
      let startup = Infinity;
      for (let i = 0; i < STARTUP_SAMPLES; i += 1) {
        startup = Math.min(startup, (await drain(children, client, schema)).seconds);
      }
      interrupted.throwIfAborted();

      const add = await addJobs(client, schema, jobs);
      if (analyze) await client.query(`analyze ${schema}._private_jobs`);
      expect("jobs queued", await queued(client, schema), jobs);
      interrupted.throwIfAborted();
      const { seconds, executed } = await drain(children, client, schema);
      expect("jobs executed", executed, jobs);

      const processing = seconds - startup;
      return {
        jobs_per_second: rate(jobs, processing),
        add_jobs_per_second: rate(jobs, add),
        add_and_process_jobs_per_second: rate(jobs, add + processing),
        add_seconds: round(add, 4),
        process_seconds: round(processing, 4),
        startup_seconds: round(startup, 4),
        server: await serverSettings(client),
        settings: { processes, concurrentJobs: concurrency, maxPoolSize: concurrency + 1, ...MODES[mode] },
      };
    });
  } finally {
    interrupted.removeEventListener("abort", stop);
    stop();
    await utils.withPgClient((client) => client.query(`drop schema if exists ${schema} cascade`));
    await utils.release();
  }
}

/** What the figures depend on besides the peer. */
async function serverSettings(client) {
  const names = ["server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers"];
  const { rows } = await client.query("select name, current_setting(name) as value from unnest($1::text[]) as name", [
    names,
  ]);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

function rate(jobs, seconds) {
  return round(jobs / seconds, 1);
}

function round(value, digits) {
  return Number(value.toFixed(digits));
}

function wholeNumber(name, text) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number of at least 1`);
  return value;
}

function print(result) {
  console.log(`graphile-worker ${result.version}, PostgreSQL ${result.server.server_version}, ${result.jobs} jobs`);
  for (const mode of Object.keys(MODES)) {
    const { jobs_per_second: work, add_jobs_per_second: add, add_and_process_jobs_per_second: both } = result[mode];
    console.log(`${mode.padEnd(12)}  process ${work} jobs/s, add ${add} jobs/s, add + process ${both} jobs/s`);
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      jobs: { type: "string", default: "20000" },
      json: { type: "boolean", default: false },
      processes: { type: "string", default: "1" },
      concurrency: { type: "string", default: "24" },
      analyze: { type: "boolean", default: false },
    },
  });
  const jobs = wholeNumber("jobs", values.jobs);
  const processes = wholeNumber("processes", values.processes);
  const concurrency = wholeNumber("concurrency", values.concurrency);
  const { analyze } = values;
  if (!process.env.DATABASE_URL) throw new Error("set DATABASE_URL to the PostgreSQL server to measure on");

  // An interrupt ends the workers, and the schema is dropped on the way out.
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interrupt.abort(new Error("interrupted")));

  const result = { peer: "graphile-worker", version: VERSION, jobs, analyzed: analyze };
  for (const mode of Object.keys(MODES)) {
    interrupt.signal.throwIfAborted();
    const options = { jobs, processes, concurrency, analyze, interrupted: interrupt.signal };
    const { server, ...figures } = await measure(mode, options);
    Object.assign(result, { server, [mode]: figures });
  }
  if (values.json) console.log(JSON.stringify(result));
  else print(result);
}

if (process.argv[2] === "--worker") {
  worker(JSON.parse(process.argv[3]));
} else {
  main().catch((error) => {
    console.error(`bench: ${error.message}`);
    process.exitCode = 1;
  });
}
