export interface Member {
  readonly host: string;
  readonly port: number;
}

/** With brackets around an address that has colons. */
export function addressOf({ host, port }: Member): string {
  return `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
}
