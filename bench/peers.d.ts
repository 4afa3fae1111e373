// The used parts of the peers' packages. The packages are installed only by `npm run bench`, so checks must not need
// them.

declare module 'croner' {
  export class Cron {
    constructor(pattern: string, options: { readonly timezone: string }, fire: () => void);
    stop(): void;
  }
}

declare module 'redlock' {
  import type Redis from 'ioredis';

  export default class Redlock {
    constructor(clients: readonly Redis[], options: { readonly retryCount: number });
    lock(resource: string, ttlMs: number): Promise<unknown>;
  }
}

declare module 'bullmq' {
  interface Connected {
    readonly connection: { readonly host: string | undefined; readonly port: number };
  }
  interface KeepOptions {
    readonly removeOnComplete: boolean;
  }

  export class Queue<Data> {
    constructor(name: string, options: Connected & { readonly defaultJobOptions: KeepOptions });
    upsertJobScheduler(
      id: string,
      repeat: { readonly pattern: string; readonly tz: string },
      template: { readonly name: string; readonly data: Data; readonly opts: KeepOptions },
    ): Promise<unknown>;
  }

  export interface Job<Data> {
    readonly data: Data;
    readonly opts: { readonly prevMillis?: number };
    readonly attemptsStarted: number;
  }

  export class Worker<Data> {
    constructor(
      name: string,
      process: (job: Job<Data>) => Promise<void>,
      options: Connected & { readonly concurrency: number },
    );
    on(event: 'error', listener: (error: Error) => void): this;
    waitUntilReady(): Promise<unknown>;
  }
}

declare module 'etcd3' {
  export interface Campaign {
    on(event: 'elected', listener: () => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
  }

  export class Etcd3 {
    constructor(options: { readonly hosts: string });
    election(name: string, ttlSeconds: number): { campaign(value: string): Campaign };
  }
}

declare module 'graphile-worker' {
  export class Logger {
    constructor(factory: () => (level: string, message: string) => void);
    error(message: string): void;
  }

  interface Helpers {
    readonly job: { readonly attempts: number };
  }

  export function run(options: {
    readonly connectionString: string;
    readonly crontab: string;
    readonly concurrency: number;
    readonly maxPoolSize: number;
    readonly noHandleSignals: boolean;
    readonly logger: Logger;
    readonly taskList: Readonly<Record<string, (payload: unknown, helpers: Helpers) => Promise<void>>>;
  }): Promise<unknown>;
}
