import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CallSpec, type CallValues, CallTemplateError, fillCall, originOf } from '../../src/core/call';

const values = (input: unknown): CallValues => ({
  scheduledFor: Date.parse('2026-03-29T00:30:00Z'),
  timeZone: 'Europe/Lisbon',
  runId: 'close@2026',
  attempt: 2,
  token: 7,
  input,
});
const call = (more: Partial<CallSpec>): CallSpec => ({
  url: 'https://a.example/x',
  method: 'POST',
  headers: {},
  ...more,
});
const none = (): undefined => undefined;

describe('a call that is filled in', () => {
  it('has each template, with its type where it is all of a text', () => {
    const body = { at: '{scheduledFor}', day: '{scheduledFor:date}', n: ['{attempt}', 't{token}'], x: '{input.a.b}' };
    const filled = fillCall(call({ body }), values({ a: { b: [1] } }), none);
    expect(JSON.parse(filled.body ?? '')).toEqual({
      at: '2026-03-29T00:30:00.000Z',
      day: '2026-03-29',
      n: [2, 't7'],
      x: [1],
    });
    expect(fillCall(call({ body: '<a>{runId}</a>' }), values({}), none)).toMatchObject({
      body: '<a>close@2026</a>',
      isJson: false,
    });
    const lisbon = { ...values({}), timeZone: 'Asia/Tokyo', scheduledFor: Date.parse('2026-03-29T15:00:00Z') };
    expect(fillCall(call({ body: '{scheduledFor:date}' }), lisbon, none).body).toBe('2026-03-30');
  });

  it('goes to the host of the file, and into no other part of the path, whatever the input is', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('..', '.', '%2e%2e', '/..', '\\..')),
        (text) => {
          const spec = call({ url: 'https://a.example/x/{input.t}/z?q={input.t}#{input.t}' });
          if (!text.isWellFormed()) return;
          try {
            const { address } = fillCall(spec, values({ t: text }), none);
            expect(address.host).toBe(originOf(spec, none)?.host);
            expect(address.pathname.split('/')).toEqual(['', 'x', encodeURIComponent(text), 'z']);
            expect([...address.searchParams]).toEqual([['q', text]]);
          } catch (error) {
            if (!(error instanceof CallTemplateError)) throw error;
            expect(['.', '..']).toContain(text);
          }
        },
      ),
    );
  });

  it('keeps an input as it is in JSON, and never reads a setting or a template from it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (json, text) => {
        const body = { whole: '{input.json}', part: '<{input.text}>' };
        const hostile = `%KEY%{attempt}${text}`;
        const filled = fillCall(call({ body }), values({ json, text: hostile }), () => 'secret');
        expect(JSON.parse(filled.body ?? '')).toEqual({
          whole: JSON.parse(JSON.stringify(json)),
          part: `<${hostile}>`,
        });
      }),
    );
  });

  it('fills settings in once, and leaves percent-encoding alone', () => {
    const read = (name: string): string | undefined => ({ KEY: '%OTHER%{attempt}', OTHER: 'x' })[name];
    const filled = fillCall(
      call({ url: 'https://a.example/caf%C3%A9%20?k=%OTHER%', headers: { k: 'a %KEY%' }, identity: 'api://%OTHER%' }),
      values({}),
      read,
    );
    expect(filled.address.href).toBe('https://a.example/caf%C3%A9%20?k=x');
    expect(filled.headers).toEqual({ k: 'a %OTHER%{attempt}' });
    expect(filled.audience).toBe('api://x');
    expect(filled.body).toBeUndefined();
  });

  it('refuses a header with a line of its own, and an input without the member', () => {
    const fill = (input: unknown) => () => fillCall(call({ headers: { a: '{input.t}' } }), values(input), none);
    expect(fill({ t: 'x\r\nhost: evil' })).toThrow(CallTemplateError);
    expect(fill({})).toThrow(/has no such member/);
    expect(fill({ t: { a: 1 } })().headers).toEqual({ a: '{"a":1}' });
  });
});
