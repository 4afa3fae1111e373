import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Links, linksBetweenMembers } from '../support/links';
import { listen, type Listener } from '../support/listen';

const PATIENCE = { timeout: 60_000 };
/** A member that connects, sends each line that it is given, and prints what it receives. */
const SCRIPT = `
  const socket = require('node:net').connect(Number(process.argv[1]), '127.0.0.1');
  socket.on('connect', () => process.stdout.write('connected '));
  socket.on('data', (data) => process.stdout.write(data));
  socket.on('error', () => undefined).on('close', () => process.stdout.write('closed'));
  process.stdin.on('data', (data) => socket.write(data)).on('end', () => process.exit());
`;

interface Member {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly heard: () => string;
}

let links: Links;
let server: Listener;
let accepted: { readonly socket: Socket; readonly heard: () => string }[];
let members: Member[];

function textOf(stream: Readable): () => string {
  let text = '';
  stream.on('data', (data: Buffer) => (text += data.toString()));
  return () => text;
}

/** The other member is this process. */
function started(port: number): Member {
  const child = spawn(process.execPath, ['-e', SCRIPT, String(port)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const member = { process: child, heard: textOf(child.stdout) };
  members.push(member);
  return member;
}

beforeEach(async () => {
  accepted = [];
  members = [];
  server = await listen((socket) => void accepted.push({ socket, heard: textOf(socket) }));
  links = linksBetweenMembers();
});
afterEach(async () => {
  links.close();
  server.close();
  await Promise.all(
    members.map(async ({ process: child }) => {
      if (child.exitCode !== null) return;
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await exited;
    }),
  );
});

/** One that is connected, with the other end of its connection. */
async function joined() {
  const near = started(await links.relayTo(1, server.port, (head) => Buffer.from(head.toString().toUpperCase())));
  links.runs([near.process.pid ?? 0, process.pid]);
  near.process.stdin.write('hello ');
  await vi.waitFor(() => expect(accepted[0]?.heard()).toBe('HELLO '), PATIENCE);
  const [far] = accepted;
  if (far === undefined) throw new Error('nothing has connected');
  return { near, far };
}

describe('the links between members', () => {
  it('carry nothing in a direction that is cut, and all of it once it is healed', async () => {
    const { near, far } = await joined();
    links.cut(0, 1);
    near.process.stdin.write('late ');
    far.socket.write('there ');
    await vi.waitFor(() => expect(near.heard()).toBe('connected there '), PATIENCE);
    links.cut(1, 0);
    far.socket.write('later');
    expect(far.heard()).toBe('HELLO ');
    links.heal();
    await vi.waitFor(() => expect(far.heard()).toBe('HELLO late '), PATIENCE);
    await vi.waitFor(() => expect(near.heard()).toBe('connected there later'), PATIENCE);
  });

  it('let a member that is cut off begin no connection, and close what it has begun once healed', async () => {
    const { near } = await joined();
    const other = started(await links.relayTo(1, server.port));
    await vi.waitFor(() => expect(accepted).toHaveLength(2), PATIENCE);
    links.runs([near.process.pid ?? 0, process.pid, other.process.pid ?? 0]);
    links.isolate(0);
    other.process.stdin.write('between others');
    await vi.waitFor(() => expect(accepted[1]?.heard()).toBe('between others'), PATIENCE);
    const cutOff = started(await links.relayTo(1, server.port));
    links.runs([cutOff.process.pid ?? 0, process.pid, other.process.pid ?? 0]);
    await vi.waitFor(() => expect(cutOff.heard()).toBe('connected '), PATIENCE);
    expect(accepted).toHaveLength(2);
    links.heal();
    await vi.waitFor(() => expect(cutOff.heard()).toBe('connected closed'), PATIENCE);
    expect(accepted).toHaveLength(2);
  });

  it('notice a connection that goes past them', async () => {
    const near = started(server.port);
    await links.relayTo(1, server.port);
    await vi.waitFor(() => expect(accepted).toHaveLength(1), PATIENCE);
    links.runs([near.process.pid ?? 0, process.pid]);
    links.isolate(1);
    expect(() => links.heal()).toThrow('member 0 is connected to member 1 past the relays');
  });
});
