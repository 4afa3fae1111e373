import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import type { HealthChange, Notice } from '../../src/core/notice';
import { brief } from '../../src/core/text';
import {
  cloudEvent,
  dedupKey,
  format,
  pagerDutyEvent,
  slackMessage,
  TEAMS_BYTES,
  teamsMessage,
  type Origin,
  titleOf,
  wordsOf,
} from '../../src/notices/formats';
import { keyOf, signatureHeaders } from '../../src/notices/try';
import { T0 } from '../support/situation';

const origin: Origin = {
  source: 'https://acme.blob.core.windows.net/cronlease',
  deployment: 'east',
  environment: 'production',
  publicAddress: new URL('https://acme.azurewebsites.net/api/manage/'),
};
const failed: Notice = {
  ...{ id: 'nightly_failed_1-s', change: 'failed', job: 'nightly' as JobName, at: T0 },
  ...{ runId: 'nightly-20260101T000000Z', outcome: 'failed', reason: 'handlerError', attempts: 3, failures: 2 },
  ...{ since: T0 - 3_600_000, error: 'Error: <!channel> & "more" `code`' },
};
const CHANGES: readonly HealthChange[] = [
  ...(['failed', 'recovered', 'paused', 'overdue', 'punctual', 'unreadable', 'restored', 'reminder', 'test'] as const),
  'digest',
];

/** Notices with texts of handlers and files as long and as odd as may be. */
const anyNotice: fc.Arbitrary<Notice> = fc.record(
  {
    id: fc.constant('a_failed_1'),
    change: fc.constantFrom(...CHANGES),
    job: fc.constant('a'.repeat(63) as JobName),
    at: fc.constant(T0),
    description: fc.oneof(fc.string({ unit: 'binary', maxLength: 9_000 }), fc.constant('<&>'.repeat(9_000))),
    error: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 5_000 }),
      fc.constantFrom('&'.repeat(20_000), '漢'.repeat(20_000), '😀'.repeat(9_000), '`<!channel>'.repeat(900)),
    ),
    notices: fc.array(fc.constant({ ...failed, error: 'x' }), { maxLength: 120 }),
    failures: fc.nat(),
    since: fc.constant(T0 - 1_000),
  },
  { requiredKeys: ['id', 'change', 'job', 'at'] },
);

describe('the words of a notice', () => {
  it('say what a reason means, with its name for the documentation', () => {
    const { facts } = wordsOf({ ...failed, outcome: 'stalled', reason: 'stallAfter' }, origin);
    expect(Object.fromEntries(facts)['Reason']).toBe(
      'the last attempt reported no progress for longer than "stallAfter" (stallAfter)',
    );
    const foreign = wordsOf({ ...failed, change: 'unreadable', reason: 'Metadata key format is 7' }, origin);
    expect(Object.fromEntries(foreign.facts)['Reason']).toBe('Metadata key format is 7');
  });

  it('name the job, what happened, and how often', () => {
    const titles = CHANGES.map((change) => titleOf({ ...failed, change, of: 7 }));
    expect(titles).toEqual([
      'nightly failed: 2 runs in a row',
      'nightly has recovered after 2 runs and 1 h',
      'nightly is paused: 2 runs in a row failed',
      'nightly is overdue: no success for 1 h',
      'nightly is no longer overdue',
      'nightly is left alone: its row or control cannot be read',
      'nightly runs again: its row and control can be read',
      'nightly still fails: 2 runs in a row',
      'A test of notices from cronlease',
      '7 notices from cronlease',
    ]);
    expect(titleOf({ ...failed, outcome: 'timedOut', failures: 1 })).toBe('nightly timed out');
  });

  it('link to the page of the run, or of the job, and to nothing where the address is not set', () => {
    expect(wordsOf(failed, origin).link).toBe(
      'https://acme.azurewebsites.net/api/manage/?run=nightly-20260101T000000Z',
    );
    const { runId: _, ...late } = failed;
    expect(wordsOf(late, origin).link).toBe('https://acme.azurewebsites.net/api/manage/?job=nightly');
    expect(wordsOf(failed, { ...origin, publicAddress: undefined }).link).toBeUndefined();
    expect(wordsOf(failed, origin).title).toBe('[production] nightly failed: 2 runs in a row');
  });
});

describe('CloudEvents', () => {
  it('have the attributes of version 1.0, and the same id as the notice', () => {
    expect(JSON.parse(cloudEvent(failed, origin))).toMatchObject({
      specversion: '1.0',
      id: failed.id,
      source: origin.source,
      type: 'cronlease.job.failed',
      subject: 'nightly',
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      data: { job: 'nightly', failures: 2, since: '2025-12-31T23:00:00.000Z', environment: 'production' },
    });
  });
});

describe('the signature', () => {
  const secret = `whsec_${Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw').toString('base64')}`;

  it('is that of Standard Webhooks over id, time and body, with one for each key', () => {
    const keys = [secret, `whsec_${'b'.repeat(40)}`].map((one) => keyOf(one) ?? new Uint8Array());
    const headers = signatureHeaders(keys, { id: 'msg_1', at: 1_614_265_330_999, body: '{"test": 2432232314}' });
    const own = (key: Uint8Array): string =>
      createHmac('sha256', key).update('msg_1.1614265330.{"test": 2432232314}').digest('base64');
    expect(headers).toEqual({
      'webhook-id': 'msg_1',
      'webhook-timestamp': '1614265330',
      'webhook-signature': keys.map((key) => `v1,${own(key)}`).join(' '),
    });
  });

  it('agrees with the example of the specification', () => {
    const key = keyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    if (key === undefined) throw new Error('the example is a secret');
    const signed = signatureHeaders([key], {
      ...{ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: 1_614_265_330_000, body: '{"test": 2432232314}' },
    });
    expect(signed['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('needs a secret of 24 to 64 bytes', () => {
    for (const wrong of [
      '',
      'whsec_',
      'whsec_?',
      `whsec_${'a'.repeat(28)}`,
      `whsec_${'a'.repeat(92)}`,
      'a'.repeat(40),
    ]) {
      expect(keyOf(wrong)).toBeUndefined();
    }
    expect(keyOf(`whsec_${'a'.repeat(32)}`)).toHaveLength(24);
  });
});

describe('Slack', () => {
  interface Message {
    readonly text: string;
    readonly blocks: readonly {
      readonly type: string;
      readonly text: { readonly type: string; readonly text: string; readonly verbatim?: boolean };
    }[];
  }
  const message = (notice: Notice): Message => slackMessage(wordsOf(notice, origin)) as Message;

  it('gets no markup from the error of a handler', () => {
    const { blocks } = message(failed);
    const texts = blocks.filter(({ type }) => type === 'section').map(({ text }) => text.text);
    expect(texts).toContain('```Error: &lt;!channel&gt; &amp; "more" ´code´```');
    expect(texts.at(-1)).toBe(
      '<https://acme.azurewebsites.net/api/manage/?run=nightly-20260101T000000Z|Open the dashboard>',
    );
  });

  it('calls nobody, and links nothing, that a description or a reason names', () => {
    const { blocks } = message({ ...failed, description: 'Ask @here, see https://wiki.example' });
    const sections = blocks.filter(({ type }) => type === 'section');
    expect(sections.some(({ text }) => text.text.includes('@here'))).toBe(true);
    for (const { text } of sections) expect(text).toMatchObject({ type: 'mrkdwn', verbatim: true });
  });

  it('stays in its limits, whatever a notice contains', () => {
    fc.assert(
      fc.property(anyNotice, (notice) => {
        const { text, blocks } = message(notice);
        expect(blocks.length).toBeLessThanOrEqual(50);
        for (const block of blocks) {
          expect(block.text.text.length).toBeLessThanOrEqual(block.type === 'header' ? 150 : 3_000);
          expect(block.text.text.length).toBeGreaterThan(0);
          if (block.type === 'header') continue;
          const own = block.text.text.replace(/^<https:[^<>|]*\|Open the dashboard>$/, '');
          expect(own).not.toMatch(/[<>]|&(?!(amp|lt|gt);)/);
        }
        expect(text.length).toBeLessThanOrEqual(3_000);
      }),
      { numRuns: 60 },
    );
  });
});

describe('Teams', () => {
  it('gets an adaptive card of version 1.4 that fits, whatever a notice contains', () => {
    fc.assert(
      fc.property(anyNotice, (notice) => {
        const body = teamsMessage(wordsOf(notice, origin));
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(TEAMS_BYTES);
        const message = JSON.parse(body) as { attachments: { contentType: string; content: { version: string } }[] };
        expect(message).toMatchObject({
          type: 'message',
          attachments: [
            {
              contentType: 'application/vnd.microsoft.card.adaptive',
              content: { type: 'AdaptiveCard', version: '1.4' },
            },
          ],
        });
        // A text block would read markdown in what a handler threw.
        expect(body).not.toContain('"TextBlock"');
      }),
      { numRuns: 60 },
    );
  });
});

describe('PagerDuty', () => {
  const event = (notice: Notice): Record<string, unknown> =>
    pagerDutyEvent(notice, origin, 'r'.repeat(32)) as Record<string, unknown>;

  it('resolves the incident that the beginning of the same trouble has triggered', () => {
    const of = (change: HealthChange): unknown[] => {
      const { event_action: action, dedup_key: key } = event({ ...failed, change, trouble: 'failure' });
      return [action, key];
    };
    const key = 'cronlease https://acme.blob.core.windows.net/cronlease nightly failure';
    for (const change of ['failed', 'paused', 'reminder'] as const) expect(of(change)).toEqual(['trigger', key]);
    expect(of('recovered')).toEqual(['resolve', key]);
    // Only one end of the two is told.
    expect(of('overdue')).toEqual(['trigger', key]);
    expect(of('punctual')).toEqual(['resolve', key]);
    expect(of('unreadable')).toEqual(['trigger', key.replace('failure', 'unreadable')]);
    expect(event(failed)).toMatchObject({
      routing_key: 'r'.repeat(32),
      payload: { severity: 'error', component: 'nightly' },
    });
  });

  it('opens an incident for each test: one that is still open would swallow the next', () => {
    const keyOfTest = (id: string): unknown => event({ id, change: 'test', job: '', at: 0 })['dedup_key'];
    expect(keyOfTest('test_a')).not.toBe(keyOfTest('test_b'));
  });

  it('stays in its limits, whatever a notice contains', () => {
    fc.assert(
      fc.property(anyNotice, fc.constantFrom('s', 's'.repeat(400)), (notice, source) => {
        expect(dedupKey(notice, { ...origin, source }).length).toBeLessThanOrEqual(255);
        const { payload } = event(notice) as { payload: { summary: string } };
        expect(payload.summary.length).toBeLessThanOrEqual(1_024);
        // The service refuses events of more than 512 KB.
        expect(Buffer.byteLength(JSON.stringify(event(notice)))).toBeLessThan(512 * 1024);
      }),
      { numRuns: 40 },
    );
  });
});

it('a text is never cut in the middle of a character', () => {
  expect(brief('😀😀', 3)).toBe('😀…');
  expect(brief('😀😀', 2)).toBe('…');
  expect(brief('abc', 3)).toBe('abc');
  expect(format('slack', failed, origin).contentType).toMatch(/^application\/json/);
});
