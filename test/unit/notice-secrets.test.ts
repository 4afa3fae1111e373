import { describe, expect, it } from 'vitest';
import { seenNotice } from '../../src/core/notice';
import type { JobName } from '../../src/core/brand';
import type { Receiver } from '../../src/notices/formats';
import { hideSecrets, tryOnce } from '../../src/notices/try';

const SIG = 'Zq+8/kP0x=';
const receiver: Receiver = {
  ...{ name: 'ops', format: 'slack', secrets: [], routingKey: undefined },
  address: new URL(
    `https://prod-1.logic.azure.com/workflows/a%20path%2Fsecret/run?api-version=2016&sig=${encodeURIComponent(SIG)}&n=1`,
  ),
};

describe('what a receiver answers', () => {
  it.each([
    ['the value of a parameter, decoded', `bad signature ${SIG} of 1`, 'bad signature *** of 1'],
    ['as it is in the address', 'bad Zq%2B8%2FkP0x%3D!', 'bad ***!'],
    ['in other letters', 'bad zq%2b8%2fkp0x%3d!', 'bad ***!'],
    ['encoded once more', 'bad Zq%252B8%252FkP0x%253D!', 'bad ***!'],
    ['a part of the path, decoded', 'no "a path/secret"', 'no "***"'],
    ['as JSON of PHP has it', String.raw`{"sig":"Zq+8\/kP0x="}`, '{"sig":"***"}'],
    ['as JSON of .NET has it', String.raw`{"sig":"Zq\u002B8/kP0x="}`, '{"sig":"***"}'],
    ['as HTML has it', '<b>Zq&#x2B;8/kP0x=</b>', '<b>***</b>'],
    ['nothing', 'all is well', 'all is well'],
    ['a secret that the end of what was read cuts', 'bad Zq+8/k', 'bad ***'],
  ])('has no secret of the address: %s', (_what, text, shown) => {
    expect(hideSecrets(receiver, text)).toBe(shown);
  });

  it('is searched before it is cut', async () => {
    const notice = seenNotice({ name: 'a' as JobName, description: undefined }, 'overdue', '1', { at: 0 });
    const call = async () => ({ status: 400, retryAfterMs: undefined, text: `${'x'.repeat(295)}${SIG}` });
    const origin = { source: 's', deployment: 'east', environment: undefined, publicAddress: undefined };
    const end = await tryOnce(call, receiver, notice, { origin, now: 0 });
    expect(JSON.stringify(end)).toContain('x***');
    expect(JSON.stringify(end)).not.toContain('Zq');
  });
});
