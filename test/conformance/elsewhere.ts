import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildSync } from 'esbuild';
import type { ETag, JobName, LeaseId } from '../../src/core/brand';
import type { LeaseStore, Metadata } from '../../src/lease/store';

export interface Handover {
  readonly connectionString: string;
  readonly containerName: string;
  readonly job: JobName;
  readonly metadata: Metadata;
  readonly guard: { readonly leaseId: LeaseId; readonly ifMatch: ETag };
}

let script: string | undefined;

/** Writes a row in its own Node process, which knows what `handover` says and nothing else. */
export async function writeRowElsewhere(handover: Handover): ReturnType<LeaseStore['writeRow']> {
  script ??= bundle();
  const child = spawn(process.execPath, ['-', JSON.stringify(handover)], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(script);
  const [answer] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return JSON.parse(answer) as Awaited<ReturnType<LeaseStore['writeRow']>>;
}

function bundle(): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(__dirname, 'other-process.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}
