// One command starts several workers, each its own process that can be killed.
import { fork } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';

const REPLACE_AFTER_MS = 3_000;

/**
 * In the first process: starts the workers, and replaces each one that is killed. In a worker: calls `work` with the
 * worker's name and a signal that is aborted when the worker must stop.
 */
export async function runWorkers(file, count, work) {
  const name = process.env.EXAMPLE_WORKER;
  if (name === undefined) {
    await startWorkers(file, Number(process.env.EXAMPLE_WORKERS ?? count));
    return;
  }
  await work(name, stopSignal());
  process.disconnect();
}

/** Prints an action of this worker. */
export function say(text) {
  console.log(`${process.env.EXAMPLE_WORKER}  ${text}`);
}

async function startWorkers(file, count) {
  const stopping = stopSignal();
  const running = new Set();
  let started = 0;
  const start = () => {
    started += 1;
    const name = `w${started}`;
    const child = fork(file, process.argv.slice(2), { env: { ...process.env, EXAMPLE_WORKER: name } });
    running.add(child);
    console.log(`${name}  starts: kill -9 ${child.pid}`);
    child.on('exit', (code, signal) => {
      running.delete(child);
      console.log(`${name}  is gone (${signal ?? `exit ${code}`})`);
      if (!stopping.aborted) setTimeout(() => stopping.aborted || start(), REPLACE_AFTER_MS);
    });
  };
  for (let index = 0; index < count; index += 1) start();
  stopping.addEventListener('abort', () => {
    // Ctrl+C in a terminal reaches the workers directly; a second signal does no harm.
    for (const child of running) child.kill('SIGTERM');
  });
  while (!stopping.aborted || running.size > 0) await wait(100);
}

function stopSignal() {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.on('SIGINT', stop).on('SIGTERM', stop);
  // A worker stops when its parent is killed.
  process.on('disconnect', stop);
  return controller.signal;
}

/** Waits; returns at once when the signal is aborted. */
export async function pause(ms, signal) {
  await wait(ms, undefined, { signal }).catch((error) => {
    if (error.name !== 'AbortError') throw error;
  });
}
