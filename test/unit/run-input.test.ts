import { describe, expect, it } from 'vitest';
import { inputText } from '../../src/cli/show/record-text';
import type { JobName } from '../../src/core/brand';
import { redactSetting } from '../../src/functions/redact';
import { recordKey } from '../../src/core/key';
import { inputOfRun } from '../../src/operator/views/runs';
import { settableClock } from '../support/clock';
import { memoryService } from '../../src/stores/memory/store';

const T0 = Date.UTC(2026, 0, 1);
const job = 'a' as JobName;
const spec = { input: { region: 'eu', token: 'secret-1' } };
const store = memoryService(settableClock(T0)).open();
const own = recordKey(T0, 'abc');
const base = { job, spec, redact: undefined };

describe('the input of a run', () => {
  it("is that of its request, beside the jobs file's where they differ", async () => {
    await store.createRequest('abc', '{"region":"us"}');
    const found = await inputOfRun(store, { ...base, key: own });
    expect(found).toEqual({ value: { region: 'us' }, from: 'manualRun', inFile: spec.input, isRedacted: false });
    expect(found && inputText(found)).toBe(
      '{"region":"us"} (given with the manual run; the jobs file has {"region":"eu","token":"secret-1"})',
    );
    const same = await inputOfRun(store, { ...base, spec: { input: { region: 'us' } }, key: own });
    expect(same).toEqual({ value: { region: 'us' }, from: 'manualRun', isRedacted: false });
  });

  it('is that of the jobs file for a due time, and for a request that brought none', async () => {
    const inFile = { value: spec.input, from: 'jobsFile', isRedacted: false };
    expect(await inputOfRun(store, { ...base, key: recordKey(T0) })).toEqual(inFile);
    expect(await inputOfRun(store, { ...base, key: recordKey(T0, 'none') })).toEqual(inFile);
    expect(await inputOfRun(store, { ...base, spec: undefined, key: recordKey(T0) })).toBeUndefined();
  });

  it('has no secrets, and says that it was changed', async () => {
    const redact = redactSetting({ CRONLEASE_REDACT: '["secret-[0-9]"]' });
    const shown = await inputOfRun(store, { ...base, redact, key: recordKey(T0) });
    expect(shown).toMatchObject({ from: 'jobsFile', isRedacted: true });
    const beside = await inputOfRun(store, { ...base, redact, key: own });
    expect(beside).toMatchObject({ value: { region: 'us' }, isRedacted: false });
    expect(JSON.stringify([shown, beside])).not.toContain('secret-1');
  });

  it('that something else has written is left out', async () => {
    await store.createRequest('foreign', 'not JSON');
    expect(await inputOfRun(store, { ...base, spec: undefined, key: recordKey(T0, 'foreign') })).toBeUndefined();
  });
});
