import { type Part, partOf, PARTS } from './parts';

/** What Node's `--cpu-prof` writes. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  /** In microseconds of the machine's monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

/** Where a bundle's modules begin: by its file, the first line (from 0) and the path of each module, in order. */
export type Bundles = ReadonlyMap<string, readonly { readonly line: number; readonly module: string }[]>;

/** The comments that esbuild writes before each module of a bundle that is not minified. */
export function modulesOf(bundle: string): { readonly line: number; readonly module: string }[] {
  return bundle.split('\n').flatMap((text, line) => {
    const [, module] = /^\s*\/\/ (\S+\.(?:[cm]?[jt]sx?|json))$/.exec(text) ?? [];
    return module === undefined ? [] : [{ line, module }];
  });
}

/** Instants, in microseconds of the machine's monotonic clock. */
export interface Stretch {
  readonly fromUs: number;
  readonly throughUs: number;
}

/** Time in ms by part, within a stretch of the profile. Idle time is left out. */
export function cpuByPart(
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  bundles: Bundles,
  { fromUs, throughUs }: Stretch,
): Map<Part, number> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const known = new Map<number, Part | 'idle'>();

  /** A frame of Node itself belongs to the nearest of its callers that has a part. */
  const find = (id: number): Part | 'idle' => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const node = byId.get(id);
    const parent = parents.get(id);
    const found =
      (node && ownPart(node.callFrame, bundles)) ??
      (parent === undefined ? "node's HTTP, sockets and timers" : find(parent));
    known.set(id, found);
    return found;
  };

  const sums = new Map<Part, number>(PARTS.map((part) => [part, 0]));
  let atUs = startTime;
  for (const [index, id] of samples.entries()) {
    const tookUs = timeDeltas[index] ?? 0;
    atUs += tookUs;
    if (atUs < fromUs || atUs > throughUs) continue;
    const part = find(id);
    if (part !== 'idle') sums.set(part, (sums.get(part) ?? 0) + tookUs / 1000);
  }
  return sums;
}

type Frame = CpuProfile['nodes'][number]['callFrame'];

function ownPart({ functionName, url, lineNumber }: Frame, bundles: Bundles): Part | 'idle' | undefined {
  if (functionName === '(idle)') return 'idle';
  if (functionName === '(garbage collector)') return 'garbage collection';
  const file = url.replace(/^file:\/\//, '');
  const modules = bundles.get(file);
  if (modules === undefined) return partOf(file);
  return partOf(modules.findLast(({ line }) => line <= lineNumber)?.module ?? '');
}
