import type { Planted } from './planted';

/** Rules of runs that fan out: plan, items, gathering. */
export const FAN_OUT_FAULTS: readonly Planted[] = [
  {
    name: 'item-trusts-deadline',
    mix: 'fans',
    what: 'one look lets an item trust up to the deadline',
    edits: [
      {
        file: 'coordinator/attempt/item-check.ts',
        in: 'checkItem',
        from: 'trustMs: Math.min(left, CHECK_TRUSTS_MS, beatTrusts)',
        to: 'trustMs: left',
      },
    ],
  },
  {
    name: 'done-items-time-out',
    mix: 'fans',
    what: 'with its attempts used up, a run ends at the deadline of its items without a look whether they are done',
    edits: [
      {
        file: 'coordinator/attempt/attempt.ts',
        in: 'underLease',
        from: "&& !(end.fate === 'timedOut' && isFanOut(held.job.handler));",
        to: ';',
      },
    ],
  },
  {
    name: 'silence-ignored',
    mix: 'fans',
    what: 'a run whose items are silent is left alone up to their deadline',
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'decideUnfinished',
        from: "if (row.phase === 'fanning') {\n    if (s.beat",
        to: "if (row.phase === 'fanning' && false) {\n    if (s.beat",
      },
    ],
  },
  {
    name: 'silence-too-short',
    mix: 'fans',
    what: 'a run is claimed after its items were silent for 15 s, and not 45 s',
    edits: [
      {
        file: 'core/fan-out.ts',
        in: 'SILENT_AFTER_MS',
        from: 'SILENT_AFTER_MS: Millis = 45_000',
        to: 'SILENT_AFTER_MS: Millis = 15_000',
      },
    ],
  },
  {
    name: 'silence-not-asked-again',
    mix: 'fans',
    what: 'the silence of the items is not checked again under the lease',
    edits: [
      {
        file: 'coordinator/beat.ts',
        in: 'itemsAreSilent',
        from: 'return last !== undefined && isSilent(last);',
        to: 'return true || isSilent(last);',
      },
    ],
  },
  {
    name: 'held-row-trusted',
    mix: 'fans',
    what: 'an item trusts although another instance holds its row',
    edits: [
      {
        file: 'coordinator/attempt/item-check.ts',
        in: 'checkItem',
        from: "if (seen.row.lease === 'leased' || seen.row.isEnding) return { kind: 'held' };",
        to: '',
      },
    ],
  },
  {
    name: 'items-do-not-beat',
    mix: 'fans',
    what: 'items trust without a beat of their process',
    edits: [
      {
        file: 'coordinator/attempt/item-check.ts',
        in: 'checkItem',
        from: 'await beat(coordinator, input);',
        to: 'undefined as Moment | undefined;',
      },
    ],
  },
];
