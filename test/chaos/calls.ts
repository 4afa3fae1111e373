/** An HTTP request to storage, as its head says. */
export interface Head {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

/** What a request to storage means to the coordinator. */
export type Call =
  | { readonly kind: 'list' | 'other' }
  | { readonly kind: 'acquire' | 'renew' | 'release'; readonly job: string; readonly leaseId: string }
  | {
      readonly kind: 'row';
      readonly job: string;
      readonly phase: string;
      readonly attempt: number;
      readonly token: number;
      /** Due times passed during the run: only the write that ends it says so. */
      readonly ends: boolean;
    }
  | {
      readonly kind: 'record';
      readonly job: string;
      readonly key: string;
      readonly state: string;
      /** For a stretch of due times, its newest. */
      readonly through: number | undefined;
    }
  /** A handler's write to its own blob, under its fence. */
  | { readonly kind: 'fenced'; readonly blob: string; readonly token: number };

export function callOf({ method, target, headers }: Head): Call {
  const { pathname, searchParams } = new URL(target, 'http://storage');
  const comp = searchParams.get('comp');
  const header = (name: string): string => headers.get(name) ?? '';
  if (method === 'GET' && comp === 'list') return { kind: 'list' };
  if (method !== 'PUT') return { kind: 'other' };
  // Account and container come first.
  const blob = decodeURIComponent(pathname).split('/').slice(3).join('/');
  const [, job] = /^jobs\/([^/]+)\/lease$/.exec(blob) ?? [];
  if (job !== undefined) return rowCall(job, comp, header);
  const [, recordJob, key] = /^runs\/([^/]+)\/([^/]+)$/.exec(blob) ?? [];
  if (recordJob !== undefined && key !== undefined) {
    const through = headers.get('x-ms-meta-through');
    return {
      kind: 'record',
      job: recordJob,
      key,
      state: header('x-ms-meta-state'),
      through: through === undefined ? undefined : Date.parse(through),
    };
  }
  const token = headers.get('x-ms-meta-cronleasetoken');
  return token === undefined ? { kind: 'other' } : { kind: 'fenced', blob, token: Number(token) };
}

function rowCall(job: string, comp: string | null, header: (name: string) => string): Call {
  if (comp === 'lease') {
    const action = header('x-ms-lease-action');
    if (action === 'acquire') return { kind: 'acquire', job, leaseId: header('x-ms-proposed-lease-id') };
    if (action === 'renew' || action === 'release') return { kind: action, job, leaseId: header('x-ms-lease-id') };
  }
  if (comp === 'metadata') {
    return {
      kind: 'row',
      job,
      phase: header('x-ms-meta-phase'),
      attempt: Number(header('x-ms-meta-attempt')),
      token: Number(header('x-ms-meta-token')),
      ends: header('x-ms-meta-busyuntil') !== '',
    };
  }
  return { kind: 'other' };
}

/** A call that storage has answered, and whose answer the proxy has seen, delivered or not. */
export interface Answered {
  readonly deployment: string;
  readonly call: Call;
  readonly status: number;
  readonly sentAt: number;
  readonly at: number;
}

/**
 * The jobs that depended on a deployment at some time in a span: it had acquired their leases, and neither released
 * them nor lost them to others; or their runs wait for a retry by its orchestrations.
 */
export function heldBy(
  traffic: readonly Answered[],
  deployment: string,
  { from, until }: { readonly from: number; readonly until: number },
): ReadonlySet<string> {
  const holders = new Map<string, string>();
  const waiting = new Set<string>();
  const inTime = traffic.filter(({ at, status }) => at <= until && status < 300);
  const note = ({ call, deployment: caller }: Answered): void => {
    if (call.kind === 'acquire') holders.set(call.job, caller);
    if (call.kind === 'release' && !waiting.has(call.job)) holders.delete(call.job);
    if (call.kind === 'row' && call.phase === 'retrying') waiting.add(call.job);
    if (call.kind === 'row' && call.phase === 'running') waiting.delete(call.job);
  };
  inTime.filter(({ at }) => at <= from).forEach(note);
  const held = new Set([...holders].flatMap(([job, holder]) => (holder === deployment ? [job] : [])));
  for (const { call, deployment: caller, at } of inTime) {
    if (call.kind === 'acquire' && caller === deployment && at > from) held.add(call.job);
  }
  return held;
}
