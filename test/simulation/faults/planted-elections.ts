import { argument, become, before, call, operation, statement } from './edit';
import type { Planted } from './planted';

/** Rules of elections. */
export const ELECTION_FAULTS: readonly Planted[] = [
  {
    name: 'election-trust-from-answer',
    what: "the first trust of an election's term counts from the answer, not from the request",
    mix: 'elections',
    edits: [become('election/campaign.ts:claim', argument('inLease', 1), 'moment(clock)')],
  },
  {
    name: 'election-broken-is-expired',
    what: "an election's broken lease counts as expired",
    mix: 'elections',
    edits: [become('election/campaign.ts:isFree', operation('&&'), '!isEnding || clock.monotonic() < longest')],
  },
  {
    name: 'election-token-not-raised',
    what: "an election's claim does not raise the token",
    mix: 'elections',
    edits: [become('election/campaign.ts:writeClaim', statement('1'), 'const { token } = row;')],
  },
  {
    name: 'election-ends-in-trouble',
    what: 'a candidate leaves its campaign when storage is away',
    mix: 'elections',
    edits: [before('election/elector.ts:follow', call('pauseAfter'), 'this.stopping.abort();')],
  },
];
