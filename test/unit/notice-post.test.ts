import { type IncomingMessage, type ServerResponse, createServer as createHttpServer } from 'node:http';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Guard, checkAddress, checkResolved, networksOf } from '../../src/notices/guard';
import { type Posted, post, type Resolve, retryAfterOf } from '../../src/notices/request';
import { systemClock } from '../../src/system-clock';

const allowed = (pattern: string, ...networks: string[]) => ({ pattern, networks });
const guard = (...hosts: string[]): Guard => ({
  setting: 'CRONLEASE_NOTIFY_HOSTS',
  hosts: hosts.map((host) => allowed(host)),
  isLocal: false,
});
const local: Guard = {
  setting: 'CRONLEASE_NOTIFY_HOSTS',
  hosts: [allowed('localhost'), allowed('alerts.example')],
  isLocal: true,
};

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening(server: {
  listen(port: number, host: string, ready: () => void): unknown;
  close(): unknown;
  address(): unknown;
}): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function receiver(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<number> {
  const server = createHttpServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      answer(request, response, body);
    });
  });
  closing.push(() => server.closeAllConnections());
  return listening(server);
}

const loopback: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
const send = (port: number, options: { limitMs?: number; resolve?: Resolve } = {}): Promise<Posted> =>
  post(
    {
      address: new URL(`http://localhost:${String(port)}/hook?sig=secret-in-the-address`),
      headers: { 'x-a': '1' },
      body: '{"é":1}',
    },
    { guard: local, clock: systemClock, resolve: loopback, ...options },
  );

describe('the guard', () => {
  it('lets notices go only to hosts of the list, over TLS', () => {
    const check =
      (address: string, ...hosts: string[]) =>
      () =>
        checkAddress(new URL(address), guard(...hosts));
    expect(check('https://hooks.slack.com/services/x', 'hooks.slack.com')).not.toThrow();
    expect(check('https://a.b.logic.azure.com/x', '*.logic.azure.com')).not.toThrow();
    expect(check('https://HOOKS.slack.com./x', 'hooks.slack.com')).toThrow(/not in CRONLEASE_NOTIFY_HOSTS/);
    for (const other of ['https://slack.com/', 'https://hooks.slack.com.evil.example/', 'https://xhooks.slack.com/']) {
      expect(check(other, 'hooks.slack.com')).toThrow(/not in CRONLEASE_NOTIFY_HOSTS/);
    }
    expect(check('https://logic.azure.com/', '*.logic.azure.com')).toThrow(/not in/);
    expect(check('https://evillogic.azure.com/', '*.logic.azure.com')).toThrow(/not in/);
    expect(check('http://hooks.slack.com/', 'hooks.slack.com')).toThrow(/without TLS/);
    expect(check('http://127.0.0.1/', '127.0.0.1')).toThrow(/without TLS/);
    expect(check('https://user:pass@hooks.slack.com/', 'hooks.slack.com')).toThrow(/user name/);
    expect(() =>
      checkAddress(new URL('http://127.0.0.1:8080/'), { ...guard('127.0.0.1'), isLocal: true }),
    ).not.toThrow();
    expect(() => checkAddress(new URL('http://10.0.0.1/'), { ...guard('10.0.0.1'), isLocal: true })).toThrow(
      /without TLS/,
    );
  });

  it('refuses addresses that are not public, however they are written', () => {
    const check =
      (ip: string, ...networks: string[]) =>
      () => {
        checkResolved('a.example', ip, allowed('a.example', ...networks), guard());
      };
    for (const open of ['52.1.2.3', '2606:4700::1111', '172.15.0.1', '172.32.0.1']) expect(check(open)).not.toThrow();
    const inner = ['10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '224.0.0.1', '255.255.255.255'];
    for (const ip of [...inner, 'fd12::1', 'ff02::1', '64:ff9b::a00:1', '2002:a00:1::', '::ffff:10.0.0.1']) {
      expect(check(ip), ip).toThrow(/private/);
    }
    expect(check('127.0.0.1')).toThrow(/this machine/);
    expect(check('::1')).toThrow(/this machine/);
    expect(check('::ffff:127.0.0.1')).toThrow(/this machine/);
    expect(check('10.1.2.3', '10.0.0.0/8')).not.toThrow();
    expect(check('10.1.2.3', '10.2.0.0/16')).toThrow(/private/);
    // A metadata service gives tokens of the app's identity, so no setting allows it.
    const never = ['169.254.169.254', '168.63.129.16', 'fe80::1', 'fd00:ec2::254', '::ffff:169.254.169.254', '::'];
    const old = ['::127.0.0.1', '::7f00:1', '::a9fe:a9fe', '::ffff:0:a9fe:a9fe', '::ffff:0:10.0.0.1'];
    const translated = ['64:ff9b::a9fe:a9fe', '64:ff9b::168.63.129.16', '2002:a9fe:a9fe::1', '2002:a83f:8110::'];
    translated.push('64:ff9b::6464:64c8', '64:ff9b::c000:c0', '2002:6464:64c8::1', '2002:c000:c0::1');
    const elsewhere = ['fd20:ce::254', '100.100.100.200', '192.0.0.192', '::ffff:100.100.100.200'];
    // Another way to this machine.
    const here = ['0.0.0.0', '::ffff:0.0.0.0', '0.1.2.3'];
    for (const ip of [...never, ...old, ...translated, ...elsewhere, ...here]) {
      expect(check(ip, '0.0.0.0/0', '::/0'), ip).toThrow(/must never be called/);
    }
    for (const wrong of ['10.0.0.0', '10.0.0.0/33', 'x/8', '10.0.0.0/-1', '::/129', '10.0.0.0/8/8x']) {
      expect(wrong.split('/').length > 2 || networksOf([wrong]) === undefined, wrong).toBe(true);
    }
  });
});

describe('a post', () => {
  it('sends headers and body, and returns the beginning of the answer', async () => {
    const got: unknown[] = [];
    const port = await receiver((request, response, body) => {
      got.push(request.method, request.url, request.headers['x-a'], request.headers['content-length'], body);
      response.writeHead(429, { 'retry-after': '7' }).end('slow\ndown');
    });
    expect(await send(port)).toEqual({ status: 429, retryAfterMs: 7_000, text: 'slow\ndown' });
    expect(got).toEqual(['POST', '/hook?sig=secret-in-the-address', '1', '8', '{"é":1}']);
  });

  it('looks the host up once, and connects to the very address that was checked', async () => {
    const port = await receiver((_request, response) => response.writeHead(204).end());
    let resolved = 0;
    const rebinding: Resolve = async () => {
      resolved += 1;
      return [{ address: resolved === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }];
    };
    expect((await send(port, { resolve: rebinding })).status).toBe(204);
    expect(resolved).toBe(1);
    const both: Resolve = async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ];
    await expect(send(port, { resolve: both })).rejects.toMatchObject({ code: 'ForbiddenAddress' });
  });

  it('tries the next of the checked addresses where one does not answer', async () => {
    const port = await receiver((_request, response) => response.writeHead(204).end());
    const first: Resolve = async () => [
      { address: '::1', family: 6 },
      { address: '127.0.0.2', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    expect((await send(port, { resolve: first })).status).toBe(204);
  });

  it('speaks TLS to the checked address, in the name of the host', async () => {
    const heard = Promise.withResolvers<string>();
    const server = createServer((socket: Socket) => {
      closing.push(() => socket.destroy());
      socket.once('data', (bytes: Buffer) => {
        heard.resolve(bytes.toString('latin1'));
        socket.destroy();
      });
    });
    const port = await listening(server);
    const address = new URL(`https://alerts.example:${String(port)}/secret-path`);
    const sent = post({ address, headers: {}, body: '' }, { guard: local, clock: systemClock, resolve: loopback });
    await expect(sent).rejects.toMatchObject({ code: 'PostFailed' });
    const hello = await heard.promise;
    expect(hello.charCodeAt(0)).toBe(0x16);
    expect(hello).toContain('alerts.example');
    expect(hello).not.toContain('secret-path');
  });

  it('does not follow redirects', async () => {
    let calls = 0;
    const port = await receiver((_request, response) => {
      calls += 1;
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    expect((await send(port)).status).toBe(307);
    expect(calls).toBe(1);
  });

  it('ends with the status of an answer that changes to another protocol', async () => {
    const server = createServer((socket: Socket) => {
      closing.push(() => socket.destroy());
      socket.once('data', () => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
      });
    });
    expect((await send(await listening(server), { limitMs: 2_000 })).status).toBe(101);
  });

  it('gives up after its time, and reads no more of an answer than it needs', async () => {
    const silent = await receiver(() => undefined);
    await expect(send(silent, { limitMs: 200 })).rejects.toThrow('host "localhost" has not answered within 0.2 s');
    const endless = await receiver((_request, response) => {
      response.writeHead(200);
      const write = (): void => {
        if (response.write('x'.repeat(10_000))) setImmediate(write);
        else response.once('drain', write);
      };
      response.on('error', () => undefined);
      write();
    });
    expect((await send(endless)).text.length).toBeLessThan(5_000);
  });

  it('names the host in an error, and nothing else of the address', async () => {
    const port = await receiver((_request, response) => response.writeHead(204).end());
    closing.splice(0).forEach((close) => close());
    const error: unknown = await send(port).catch((problem: unknown) => problem);
    expect(String(error)).toContain('host "localhost" cannot be reached: ECONNREFUSED');
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain('secret');
  });

  it('reads Retry-After in seconds and as a time', () => {
    expect(retryAfterOf('120', undefined)).toBe(120_000);
    expect(retryAfterOf('Wed, 21 Oct 2026 07:28:30 GMT', 'Wed, 21 Oct 2026 07:28:00 GMT')).toBe(30_000);
    expect(retryAfterOf('Wed, 21 Oct 2026 07:27:00 GMT', 'Wed, 21 Oct 2026 07:28:00 GMT')).toBe(0);
    for (const wrong of ['soon', '-5', '1e9999']) expect(retryAfterOf(wrong, 'x')).toBeUndefined();
  });
});
