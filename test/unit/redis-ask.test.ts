import { describe, expect, it } from 'vitest';
import { asker } from '../../src/stores/redis/ask';
import type { Send } from '../../src/stores/redis/connections';
import { FAULTS } from '../../src/stores/redis/errors';
import { script } from '../../src/stores/redis/scripts';
import { settableClock } from '../support/clock';

/** As ioredis does. */
class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/** Asks a server that answers each command in turn, and returns the commands that it got. */
async function asked(answers: readonly (string | number | Error)[], replicas?: number) {
  const commands: string[] = [];
  const waiting = [...answers];
  const send: Send = (command) => {
    commands.push(command);
    const answer = waiting.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const ask = asker({
    connection: (_signal, use) => use(send),
    layout: 'l',
    wait: replicas === undefined ? undefined : { replicas, ms: 100 },
    ...{ location: 'redis', clock: settableClock(), callTimeoutMs: 1_000, faults: FAULTS },
  });
  const write = script('write', 'return 1');
  const question = { what: 'job "a"', kind: 'write', script: write, keys: ['k'], options: undefined } as const;
  const answer = await ask(question).catch((error: unknown) => error);
  return { answer, commands };
}

describe('a write to Redis', () => {
  it('counts once as many replicas have it as waitReplicas says', async () => {
    expect(await asked(['done', 2], 2)).toEqual({ answer: 'done', commands: ['EVALSHA', 'WAIT'] });
    const { answer } = await asked(['done', 1], 2);
    expect(answer).toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringMatching(/^1 of 2 replicas/) as unknown,
    });
  });

  it('is sent again where the server does not know the script, and after no other error', async () => {
    const unknown = new ReplyError('NOSCRIPT No matching script');
    expect(await asked([unknown, 'done'])).toEqual({ answer: 'done', commands: ['EVALSHA', 'EVAL'] });
    for (const error of [new ReplyError('OOM command not allowed'), new Error('read ECONNRESET')]) {
      const { answer, commands } = await asked([error, 'done']);
      expect(answer).toMatchObject({ code: 'StoreUnavailable' });
      expect(commands).toEqual(['EVALSHA']);
    }
  });

  it('that an older server cannot read says which version is needed', async () => {
    const unknown = new ReplyError('NOSCRIPT No matching script. Please use EVAL.');
    // Of Redis 6, which Azure Cache for Redis still has.
    const said = "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";
    const { answer } = await asked([unknown, new ReplyError(said)]);
    expect(answer).toMatchObject({
      message: expect.stringMatching(/'#'\. Use Redis 7 or later, or Valkey\.$/) as unknown,
    });
  });
});
