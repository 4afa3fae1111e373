import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Guard } from '../../src/local/cluster/child';
import { backends } from '../backends/index';
import type { Backend } from '../backends/backend';
import type { BenchJob } from '../load';
import type { Running, System } from '../systems/system';
import { openStarts, type StartsFile } from './starts-file';

export interface WorldOptions {
  readonly system: System;
  readonly jobs: readonly BenchJob[];
  readonly clockShiftsMs: readonly number[];
  /** Folder in which a folder for this run is made. */
  readonly scratch: string;
  readonly guard: Guard;
  readonly profileInto?: string | undefined;
}

/** One system with its server and its workers, started. */
export interface World {
  readonly backend: Backend;
  readonly running: Running;
  readonly starts: StartsFile;
  readonly trouble: { readonly lines: number; readonly first: readonly string[] };
}

const KEPT_LINES = 5;

/** Starts a system in its own folder, measures it, and ends it, whatever happens. */
export async function inWorld<T>(
  { system, jobs, clockShiftsMs, scratch, guard, profileInto }: WorldOptions,
  measure: (world: World) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(path.join(scratch, `${system.name}-`));
  guard.remove(folder);
  const trouble = { lines: 0, first: [] as string[] };
  const onTrouble = (line: string): void => {
    trouble.lines += 1;
    // Stacks name folders of this machine.
    const [message = ''] = line.split('\n', 1);
    if (trouble.first.length < KEPT_LINES) trouble.first.push(message.slice(0, 300));
  };
  const inside = (name: string): string => {
    const made = path.join(folder, name);
    mkdirSync(made);
    return made;
  };
  try {
    const backend = await backends[system.backend].start({ folder: inside('backend'), guard });
    try {
      const records = path.join(folder, 'starts');
      const starts = openStarts(records);
      const app = inside('app');
      const running = await system.start({
        ...{ folder: app, backend, jobs, records, clockShiftsMs, guard, onTrouble },
        profileInto,
      });
      try {
        return await measure({ backend, running, starts, trouble });
      } finally {
        await running.stop();
        starts.close();
      }
    } finally {
      await backend.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
