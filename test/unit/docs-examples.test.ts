import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { isObject } from '../../src/core/metadata';
import { noticeSettings } from '../../src/functions/remote-settings';
import { keyOf, signatureHeaders } from '../../src/notices/try';
import { type Example, docExamples } from '../support/doc-examples';

const examples = docExamples();

const jsonOf = ({ code }: Example): unknown => JSON.parse(code);
const named = (all: readonly Example[]): [string, Example][] => all.map((each) => [each.file, each]);

const jobsFiles = examples.filter((each) => {
  const isWhole = /^\s*\{/.test(each.code) && /^ *"jobs": \{|^\s*\{ "jobs": \{/m.test(each.code);
  return each.language === 'json' && isWhole && !each.code.includes('…');
});

const receivers = examples.filter(
  ({ language, code, file }) => language === 'json' && file.endsWith('notices.md') && code.includes('"format"'),
);

const shells = examples.filter(({ language, code }) => language === 'sh' && /CRONLEASE_(RECEIVERS|PINGS)=/.test(code));

describe('the examples of the documents', () => {
  it('are found', () => {
    expect(jobsFiles.length).toBeGreaterThanOrEqual(6);
    expect(receivers).toHaveLength(4);
    expect(shells.length).toBeGreaterThanOrEqual(3);
  });

  it.each(named(jobsFiles))('are valid jobs files: %s', (_, example) => {
    const value = jsonOf(example);
    if (!isObject(value)) throw new Error('not an object');
    const { $schema: _schema, ...jobs } = value;
    // The calendars of an example lie in files that the reader has.
    const readFile = (): Buffer => Buffer.from('BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n');
    expect(Object.keys(jobs)).toContain('jobs');
    expect(() => loadJobs(jobs, { readFile })).not.toThrow();
  });

  it.each(named(receivers))('are receivers: %s', (_, example) => {
    const secret = 'whsec_bm90IGEgc2VjcmV0IGF0IGFsbCwgb25seSBhIHRlc3Q=';
    const env = {
      CRONLEASE_RECEIVERS: example.code.replace('whsec_…', secret),
      CRONLEASE_NOTIFY_HOSTS: 'hooks.slack.com, *.api.powerplatform.com, events.pagerduty.com, alerts.example.com',
    };
    expect(noticeSettings(env).receivers.size).toBe(1);
  });

  it.each(named(shells))('are settings of a shell: %s', (_, { code }) => {
    const env = Object.fromEntries(
      [...code.matchAll(/\b(CRONLEASE_\w+)=(?:'([^']*)'|(\S+))/g)].map(([, name = '', quoted, bare]) => [
        name,
        quoted ?? bare ?? '',
      ]),
    );
    const local = code.includes('cronlease dev') ? { CRONLEASE_DEV_SECRET: 'secret' } : {};
    const { receivers: found, pings } = noticeSettings({ ...env, ...local });
    expect(found.size + pings.size).toBeGreaterThan(0);
  });

  it('verify the signature of a notice', async () => {
    const example = examples.find(({ code }) => code.includes('function isFromCronlease'));
    const module: unknown = await import(
      /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(example?.code ?? '')}`
    );
    const verify = isObject(module) ? module['isFromCronlease'] : undefined;
    if (typeof verify !== 'function') throw new Error('docs/how-to/notices.md has no isFromCronlease');
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const key = keyOf(secret);
    if (key === undefined) throw new Error('not a key');
    const notice = { id: 'a_failed_1', at: Date.now(), body: '{"data": {}}' };
    const headers = signatureHeaders([Buffer.alloc(32, 1), key], notice);
    expect(verify(secret, headers, notice.body)).toBe(true);
    expect(verify(secret, headers, '{"data": {"failures": 0}}')).toBe(false);
    expect(verify(`whsec_${Buffer.alloc(32, 8).toString('base64')}`, headers, notice.body)).toBe(false);
    expect(verify(secret, signatureHeaders([key], { ...notice, at: Date.now() - 400_000 }), notice.body)).toBe(false);
  });
});

it('JavaScript says whether it is CommonJS or an ES module', () => {
  for (const { file, language, code, before } of examples) {
    if (language !== 'js') continue;
    const wanted = code.includes('require(') ? /CommonJS/ : /ES module|\.mjs/;
    expect(before, `${file}: ${code.slice(0, 80)}`).toMatch(wanted);
  }
});

it('nothing is installed from a registry that lacks it', () => {
  for (const file of new Set(examples.map(({ file }) => file))) {
    expect(readFileSync(path.join(__dirname, '../..', file), 'utf8')).not.toMatch(
      /npm (?:install|i|add)(?: --?\S+)* cronlease(?: [a-z]|\s*$)/m,
    );
  }
});
