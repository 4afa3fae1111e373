export interface Member {
  readonly host: string;
  readonly port: number;
}

/** With brackets around an address that has colons. */
export function addressOf({ host, port }: Member): string {
  return `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
}

/** A path is that of a Unix socket. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\/.*)$/i.test(host);
}
