import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { helpBlocks } from '../../scripts/help.mjs';
import { topicOf, topicOfError, topicOfState } from '../../src/dashboard/data/help-topics';
import { SHOWN_STATES } from '../../src/core/shown-state';
import { OUTCOMES } from '../../src/manage/schema';

const ANCHORS = new Set(helpBlocks().flatMap((block) => (block.kind === 'heading' ? [block.anchor] : [])));

describe('the help of the dashboard', () => {
  it('is the page for the person on call', () => {
    const page = readFileSync(path.join(__dirname, '../../docs/how-to/on-call.md'), 'utf8');
    const headings = page.match(/^#{1,3} .*$/gm) ?? [];
    expect(ANCHORS.size).toBe(headings.length);
    const text = JSON.stringify(helpBlocks());
    expect(text).toContain('cronlease why JOB TIME');
    expect(text).not.toContain('<');
  });

  it('has a place for each outcome, reason, state and error', () => {
    const outcomes = readFileSync(path.join(__dirname, '../../src/core/outcome.ts'), 'utf8');
    const reasons = outcomes.split(/^export type (?:Reason|Trigger)/m)[1]?.match(/(?<=\| ')\w+(?=')/g);
    expect(reasons?.length).toBeGreaterThan(20);
    const problems = ['manage/problem.ts', 'manage/access.ts', 'manage/serve.ts', 'dashboard/data/api.ts'].flatMap(
      (file) =>
        [
          ...readFileSync(path.join(__dirname, '../../src', file), 'utf8').matchAll(
            /code: '(\w+)'|^ {2}([A-Z]\w+): \[/gm,
          ),
        ].map(([, first, second]) => first ?? second ?? ''),
    );
    expect(problems).toEqual(expect.arrayContaining(['Unreachable', 'RoleTooLow', 'Changed', 'ControlFull']));
    const topics = [
      ...OUTCOMES.map((outcome) => topicOf(outcome, null)),
      ...(reasons ?? []).map((reason) => topicOf('succeeded', reason)),
      ...SHOWN_STATES.map(topicOfState),
      ...problems.map(topicOfError),
      ...['take-overs', 'silent', 'clock-skew', 'trouble', 'claimDue', 'foreignBlob', 'instanceStopped'],
    ];
    expect(topics.filter((topic) => topic === undefined || !ANCHORS.has(topic.toLowerCase()))).toEqual([]);
  });

  it('follows its own links, and names other pages without a link', () => {
    const markdown = '# A\n\nSee [b](#b), [c](c.md#d) and `code`.\n\n## B\n\n- **one:** two';
    expect(helpBlocks(markdown)).toEqual([
      { kind: 'heading', level: 1, anchor: 'a', pieces: [{ text: 'A' }] },
      {
        kind: 'text',
        pieces: [
          ...[{ text: 'See ' }, { text: 'b', anchor: 'b' }, { text: ', ' }, { text: 'c' }],
          ...[{ text: ' and ' }, { text: 'code', as: 'code' }, { text: '.' }],
        ],
      },
      { kind: 'heading', level: 2, anchor: 'b', pieces: [{ text: 'B' }] },
      { kind: 'list', items: [[{ text: 'one:', as: 'strong' }, { text: ' two' }]] },
    ]);
    for (const block of helpBlocks()) {
      const pieces = block.kind === 'list' ? block.items.flat() : block.pieces;
      for (const { anchor } of pieces) expect(anchor === undefined || ANCHORS.has(anchor), anchor).toBe(true);
    }
  });

  it('refuses what it cannot show', () => {
    expect(() => helpBlocks('![a](b.png)')).toThrow(
      'docs/how-to/on-call.md: the help page cannot show a image: ![a](b.png)',
    );
    expect(() => helpBlocks('| a |\n| - |\n| b |')).toThrow('the help page cannot show a table');
  });
});

it('the settings in words promise no take-over by the lease alone, because a tick must see its end', () => {
  const source = readFileSync(path.join(__dirname, '../../src/dashboard/data/settings-words.tsx'), 'utf8');
  expect(source).toMatch(/If its holder dies, its lease of .* expires, and the next tick .* takes the run over\./);
  expect(source).not.toMatch(/at the latest/);
});
