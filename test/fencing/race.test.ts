import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sqlite } from './engine';
import { snippet } from './page';

/** Result code of SQLite, and its extended forms in the bits above. */
const SQLITE_BUSY = 5;

type Connection = ReturnType<typeof sqlite>;

/** A leader's transaction, statement by statement, on its own connection. */
interface Leader {
  /** Makes its next step, or waits for the other's transaction. */
  step(): void;
  readonly done: boolean;
}

function leader(token: number, takeFence: string, connection: Connection): Leader {
  const write = (day: string) => () =>
    connection.run(
      `INSERT INTO report (day, total, token) VALUES ($1, $2, $2)
       ON CONFLICT (day) DO UPDATE SET total = excluded.total, token = excluded.token`,
      [day, token],
    );
  const steps: (() => unknown)[] = [
    () => connection.run('BEGIN'),
    () => {
      if (connection.run(takeFence, ['a', token]).length > 0) return;
      connection.run('ROLLBACK');
      steps.length = 0;
    },
    write('2026-01-01'),
    write('2026-01-02'),
    () => connection.run('COMMIT'),
  ];
  let at = 0;
  return {
    step() {
      if (at >= steps.length) return;
      try {
        steps[at]?.();
        at += 1;
      } catch (error) {
        if (!(error instanceof Error) || !('errcode' in error) || (Number(error.errcode) & 0xff) !== SQLITE_BUSY) {
          throw error;
        }
      }
    },
    get done() {
      return at >= steps.length;
    },
  };
}

/** All orders in which two may make five steps each: true is the first one's turn. */
function orders(first: number, second: number): boolean[][] {
  if (first === 0 && second === 0) return [[]];
  return [
    ...(first > 0 ? orders(first - 1, second).map((rest) => [true, ...rest]) : []),
    ...(second > 0 ? orders(first, second - 1).map((rest) => [false, ...rest]) : []),
  ];
}

describe('two leaders whose transactions interleave', () => {
  const ORDERS = orders(5, 5);
  let folder: string;
  let connections: readonly [Connection, Connection];
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'fencing-'));
    const open = (): Connection => {
      const connection = sqlite(path.join(folder, 'race.db'));
      connection.run('PRAGMA journal_mode = WAL');
      connection.run('PRAGMA synchronous = OFF');
      return connection;
    };
    connections = [open(), open()];
    connections[0].run(snippet('create'));
    connections[0].run(snippet('create-fence'));
  });
  beforeEach(clear);
  afterAll(async () => {
    for (const connection of connections) await connection.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function clear(): void {
    connections[0].run('DELETE FROM report');
    connections[0].run('DELETE FROM cronlease_fence');
  }

  /** What the rows hold after the leaders with tokens 1 and 2 have gone in this order, and then to their ends. */
  function raceIn(order: readonly boolean[], takeFence: string): unknown {
    clear();
    const [one, two] = connections;
    const leaders = [leader(1, takeFence, one), leader(2, takeFence, two)] as const;
    for (const turn of order) leaders[turn ? 0 : 1].step();
    for (let turns = 0; turns < 20; turns += 1) for (const last of leaders) last.step();
    expect(leaders.map(({ done }) => done)).toEqual([true, true]);
    return one.run('SELECT token FROM report ORDER BY day');
  }

  it(`leave what the higher token wrote, in each of ${String(ORDERS.length)} orders`, () => {
    for (const order of ORDERS) {
      expect(raceIn(order, snippet('take-fence')), order.join()).toEqual([{ token: 2 }, { token: 2 }]);
    }
  });

  it('would not without the compare', () => {
    const unfenced = snippet('take-fence').replace(/^WHERE .*\n/m, '');
    const ends = new Set(ORDERS.map((order) => JSON.stringify(raceIn(order, unfenced))));
    expect(ends).toContain(JSON.stringify([{ token: 1 }, { token: 1 }]));
  });

  it('fail, and mix nothing, where a transaction reads before it takes the fence', () => {
    const [reader, writer] = connections;
    reader.run('BEGIN');
    reader.run('SELECT * FROM report');
    writer.run(snippet('take-fence'), ['a', 2]);
    expect(() => reader.run(snippet('take-fence'), ['a', 1])).toThrow(/locked/);
    reader.run('ROLLBACK');
  });
});
