import { describe, expect, it } from 'vitest';
import { formatIssue } from '../../src/config/config-error';
import { loadJobs } from '../../src/config/load';

const warningsOf = (input: unknown): readonly string[] =>
  loadJobs({ jobs: { job: { schedule: '@daily', input } } }).warnings.map(formatIssue);

const storageKey = `${'Ab3/'.repeat(21)}xy==`;

describe('the input of a job', () => {
  it.each<[unknown, string]>([
    [{ password: 'hunter2' }, 'input.password'],
    [{ smtp: { userPasswords: ['a', 'b'] } }, 'input.smtp.userPasswords[0]'],
    [{ dbpwd: 'x' }, 'input.dbpwd'],
    [{ apiKey: 'x' }, 'input.apiKey'],
    [{ 'api-key': 'x' }, 'input.api-key'],
    [{ 'x-functions-key': 'x' }, 'input.x-functions-key'],
    [{ headers: { 'X-Auth-Key': 'x' } }, 'input.headers.X-Auth-Key'],
    [{ headers: { Authorization: 'Bearer abc' } }, 'input.headers.Authorization'],
    [{ url: 'postgres://job:s3cret@db.example.com/x' }, 'input.url'],
    [{ url: 'https://a.blob.core.windows.net/c?sv=1&sig=abcdef' }, 'input.url'],
    [{ store: `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${storageKey}` }, 'input.store'],
    [{ value: storageKey }, 'input.value'],
    [{ value: `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${'x'.repeat(20)}` }, 'input.value'],
    [{ value: `-----BEGIN RSA PRIVATE KEY-----\nMIIE` }, 'input.value'],
    [{ value: `ghp_${'a1'.repeat(18)}` }, 'input.value'],
    [{ value: `abc8Q~${'a'.repeat(34)}` }, 'input.value'],
    ['--password=hunter2', 'input'],
  ])('%j draws a warning that does not repeat it', (input, path) => {
    const [first] = warningsOf(input);
    expect(first?.replace(/ (an input|:).*/, '')).toMatch(/^jobs\.job\.input/);
    expect(first).toMatch(`jobs.job.${path} = "***": looks like a secret`);
    expect(warningsOf(input).join()).not.toMatch(/hunter2|s3cret|Ab3|abcdef/);
  });

  it.each<[unknown]>([
    [undefined],
    [{ passwordSetting: 'DB_PASSWORD', tokenUrl: 'https://login.example.com/token', secretName: 'db' }],
    [{ password: '' }],
    [{ password: '${DB_PASSWORD}', token: '%TOKEN%', secret: '@Microsoft.KeyVault(SecretUri=https://v/s)' }],
    [{ maxTokens: 4000, tokenizer: 'cl100k', secretary: 'Ann', key: 'customers/1', bypass: 'no' }],
    [{ sha256: 'a'.repeat(64), sha512: 'b'.repeat(128), text: 'The key to success', id: crypto.randomUUID() }],
  ])('%j draws none', (input) => {
    expect(warningsOf(input)).toEqual([]);
  });

  it('with many secrets draws five warnings', () => {
    expect(warningsOf({ tokens: Array.from({ length: 1000 }, String) })).toHaveLength(5);
  });

  it('over 32 KB draws a warning', () => {
    expect(warningsOf({ text: 'é'.repeat(16 * 1024 - 6) })).toEqual([]);
    expect(warningsOf({ text: 'é'.repeat(16 * 1024 - 5) })).toEqual([
      expect.stringMatching(/^jobs\.job\.input = "\{…\}": has 33 KB of JSON\. .* 32 KB; store it elsewhere/),
    ]);
  });
});
