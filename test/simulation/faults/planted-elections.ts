import type { Planted } from './planted';

/** Rules of elections. */
export const ELECTION_FAULTS: readonly Planted[] = [
  {
    name: 'election-trust-from-answer',
    what: "the first trust of an election's term counts from the answer, not from the request",
    mix: 'elections',
    edits: [
      {
        file: 'election/campaign.ts',
        in: 'claim',
        from: 'const trust = new Trust(clock, sent, leaseMs - marginOf(leaseMs));',
        to: 'const trust = new Trust(clock, moment(clock), leaseMs - marginOf(leaseMs));',
      },
    ],
  },
  {
    name: 'election-broken-is-expired',
    what: "an election's broken lease counts as expired",
    mix: 'elections',
    edits: [
      {
        file: 'election/campaign.ts',
        in: 'isFree',
        from: 'return !isEnding && clock.monotonic() - broken.since >= longest + marginOf(longest);',
        to: 'return !isEnding || clock.monotonic() < longest;',
      },
    ],
  },
  {
    name: 'election-token-not-raised',
    what: "an election's claim does not raise the token",
    mix: 'elections',
    edits: [
      {
        file: 'election/campaign.ts',
        in: 'writeClaim',
        from: 'const token = (row.token + 1) as Token;',
        to: 'const { token } = row;',
      },
    ],
  },
  {
    name: 'election-ends-in-trouble',
    what: 'a candidate leaves its campaign when storage is away',
    mix: 'elections',
    edits: [
      {
        file: 'election/follow.ts',
        in: 'follower',
        from: 'return { waitMs: pauseAfter(candidate, error) };',
        to: 'stopping.abort();\n      return { waitMs: pauseAfter(candidate, error) };',
      },
    ],
  },
];
