import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(__dirname, '../..');

function text(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

const HEADINGS = new Set([...text('docs/how-to/on-call.md').matchAll(/^### (\S+)$/gm)].map(([, heading]) => heading));

/** The reasons in the generated tables, without those of a run that succeeded. */
function reasons(): readonly string[] {
  const [, outcomes = '', attempts = ''] = text('docs/reference/outcomes.md').split(/<!-- generated: [^>]+-->/);
  const cells = [outcomes, attempts].flatMap((part) => {
    const table = part.split('<!-- end -->')[0] ?? '';
    return table.split('\n').map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  });
  const named = cells.flatMap(([, first = '', second = '', third]) => (third === '' ? [first] : [second, first]));
  return [...new Set(named)].filter((name) => /^[a-z]+[A-Za-z]*$/.test(name) && !OUTCOMES.has(name));
}

const OUTCOMES = new Set(
  ['succeeded', 'failed', 'timedOut', 'stalled', 'cancelled', 'overlapped', 'collapsed', 'expired'].concat(
    // Words of the tables' heads, and what needs nobody.
    ['outcome', 'reason', 'meaning', 'completed', 'termEnded'],
  ),
);

/** The names of the alert rules in the template, without the part that each app fills in. */
function alerts(): readonly string[] {
  const template = text('infra/modules/alerts.bicep');
  const rules = [...template.matchAll(/^ {4}name: '([a-z-]+)'$/gm)].map(([, name = '']) => name);
  const own = [...template.matchAll(/name: 'alert-[^']*-([a-z]+)'/g)].map(([, name = '']) => name);
  return [...new Set([...rules, ...own])];
}

describe('the page for the person on call', () => {
  it('has each reason for which somebody may be called', () => {
    expect(reasons().length).toBeGreaterThan(20);
    expect(reasons().filter((reason) => !HEADINGS.has(reason))).toEqual([]);
  });

  it('has each alert', () => {
    expect(alerts()).toEqual(expect.arrayContaining(['failed', 'trouble', 'overdue', 'silent', 'unhealthy']));
    expect(alerts().filter((alert) => !HEADINGS.has(alert))).toEqual([]);
  });

  it('has the same three parts for each', () => {
    const sections = text('docs/how-to/on-call.md').split(/^### /m).slice(1);
    for (const section of sections) {
      const parts = [...section.matchAll(/^- \*\*(\w+):\*\* /gm)].map(([, part]) => part);
      expect(parts, section.split('\n')[0]).toEqual(['Meaning', 'Look', 'Do']);
    }
  });
});
