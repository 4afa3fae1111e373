import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { HELP, anchorOf, topicOf, topicOfError, topicOfState } from '../../src/dashboard/data/help-topics';
import { REASON_GUIDE } from '../../src/core/guide';
import { SHOWN_STATES } from '../../src/core/shown-state';
import { OUTCOMES } from '../../src/manage/schema';

const root = path.join(__dirname, '../..');

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

describe('the help of the dashboard', () => {
  it('explains each outcome, reason, state and error', () => {
    const problems = ['manage/problem.ts', 'manage/access.ts', 'manage/serve.ts', 'dashboard/data/api.ts'].flatMap(
      (file) =>
        [...read(`src/${file}`).matchAll(/(?:code: |RequestError\(\d+, )'(\w+)'|^ {2}([A-Z]\w+): \[/gm)].map(
          ([, first, second]) => first ?? second ?? '',
        ),
    );
    expect(problems).toEqual(expect.arrayContaining(['Unreachable', 'RoleTooLow', 'Changed', 'ControlFull']));
    const topics = [
      ...OUTCOMES.map((outcome) => topicOf(outcome, null)),
      ...Object.keys(REASON_GUIDE).map((reason) => topicOf('succeeded', reason)),
      ...SHOWN_STATES.map(topicOfState),
      ...problems.map(topicOfError),
      ...['take-overs', 'silent', 'clock-skew', 'trouble', 'claimDue', 'foreignBlob', 'instanceStopped'],
    ];
    expect(topics.filter((topic) => anchorOf(topic) === undefined)).toEqual([]);
    expect(anchorOf('nonRetryable')).toBe('nonretryable');
    expect(anchorOf('planted')).toBeUndefined();
  });

  it('explains each alert of the template', () => {
    const template = read('infra/modules/alerts.bicep');
    const rules = [...template.matchAll(/^ {4}name: '([a-z-]+)'$/gm)].map(([, name = '']) => name);
    const apart = [...template.matchAll(/name: 'alert-[^']*-([a-z]+)'/g)].map(([, name = '']) => name);
    const alerts = [...rules, ...apart];
    expect(alerts).toEqual(expect.arrayContaining(['failed', 'trouble', 'overdue', 'silent', 'unhealthy']));
    expect(alerts.filter((alert) => anchorOf(alert) === undefined)).toEqual([]);
  });

  it('has each name once, in sentences that refer to names that it has', () => {
    const entries = HELP.flatMap(({ title, own, topics }) => [
      ...(own === undefined ? [] : [[title, own] as const]),
      ...topics,
    ]);
    const names = entries.map(([name]) => name.toLowerCase());
    expect(names.length).toBeGreaterThan(60);
    expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([]);
    for (const [name, { meaning, next = 'It.', remedy = 'Do.' }] of entries) {
      for (const text of [meaning, next, remedy]) expect(text, name).toMatch(/^[A-Z`][^]*\.$/);
      const see = [...`${next} ${remedy}`.matchAll(/\bsee `([^`]+)`/gi)].map(([, other]) => other);
      expect(see.filter((other) => anchorOf(other) === undefined)).toEqual([]);
    }
  });
});

it('the settings in words promise no take-over by the lease alone, because a tick must see its end', () => {
  const source = read('src/dashboard/parts/job-settings.tsx');
  expect(source).toMatch(/If its holder dies, its lease of .* expires, and the next tick .* takes the run over\./);
  expect(source).not.toMatch(/at the latest/);
});
