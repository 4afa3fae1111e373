import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A connection from its one end, as Linux lists it. */
interface End {
  readonly port: number;
  readonly remotePort: number;
  readonly inode: string;
}

/** Every connection of this machine, once for each of its ends here. Java opens those of IPv4 as IPv6. */
function ends(): End[] {
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const [, local, remote, , , , , , , inode] = line.trim().split(/\s+/);
        if (local === undefined || remote === undefined || inode === undefined) return [];
        return [{ port: portIn(local), remotePort: portIn(remote), inode }];
      }),
  );
}

function portIn(address: string): number {
  return Number.parseInt(address.slice(address.lastIndexOf(':') + 1), 16);
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${String(pid)}/fd`;
  return readdirSync(folder).flatMap((name) => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(linkAt(`${folder}/${name}`)) ?? [];
    return inode === undefined ? [] : [inode];
  });
}

function linkAt(file: string): string {
  try {
    return readlinkSync(file);
  } catch (error) {
    // The process has closed it since the listing.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

export interface Owners {
  /** The index of the process that has the end with these ports; undefined: none of them has it. */
  ownerOf(port: number, remotePort: number): number | undefined;
  /** The connections of these processes to a port. */
  to(remotePort: number): readonly { readonly owner: number; readonly port: number }[];
}

/** Which of these processes have which connections at this moment. Only Linux can tell. */
export function socketOwners(pids: readonly number[]): Owners {
  const owners = new Map(pids.flatMap((pid, index) => socketsOf(pid).map((inode) => [inode, index] as const)));
  const owned = ends().flatMap(({ inode, ...end }) => {
    const owner = owners.get(inode);
    return owner === undefined ? [] : [{ ...end, owner }];
  });
  return {
    ownerOf: (port, remotePort) => owned.find((end) => end.port === port && end.remotePort === remotePort)?.owner,
    to: (remotePort) => owned.filter((end) => end.remotePort === remotePort),
  };
}
