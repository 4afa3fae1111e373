import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, snippet, snippets, withSnippets } from './page';

/** What is used of packages that are not installed here. */
const PACKAGES = `
declare module '@azure/data-tables' {
  export type TableEntity<T extends object = Record<string, unknown>> = T & { partitionKey: string; rowKey: string };
  export class TableClient {
    getEntity<T extends object>(partitionKey: string, rowKey: string): Promise<T & { etag: string }>;
    createEntity<T extends object>(entity: TableEntity<T>): Promise<unknown>;
    updateEntity<T extends object>(
      entity: TableEntity<T>,
      mode?: 'Merge' | 'Replace',
      options?: { etag?: string },
    ): Promise<unknown>;
  }
}
declare module '@aws-sdk/lib-dynamodb' {
  export class PutCommand {
    constructor(input: {
      TableName: string;
      Item: Record<string, unknown>;
      ConditionExpression?: string;
      ExpressionAttributeValues?: Record<string, unknown>;
    });
  }
  export class DynamoDBDocumentClient {
    send(command: PutCommand): Promise<unknown>;
  }
}
declare module 'mongodb' {
  export interface Collection<T> {
    updateOne(
      filter: { _id: string; token: { $lte: number } },
      update: { $set: Partial<T> },
      options: { upsert: boolean; writeConcern: { w: 'majority' } },
    ): Promise<unknown>;
    findOne(filter: { _id: string }, options: { readPreference: 'primary' }): Promise<T | null>;
  }
}
declare module '@azure/cosmos' {
  interface Patch {
    condition?: string;
    operations: { op: 'set'; path: string; value: unknown }[];
  }
  export class Container {
    item(id: string, partitionKey: string): { patch(body: Patch): Promise<unknown> };
    readonly items: { create<T>(body: T): Promise<unknown> };
  }
}
`;

describe('docs/how-to/fencing.md and examples/fencing.md', () => {
  it('has TypeScript that compiles', () => {
    withSnippets((folder) => {
      writeFileSync(path.join(folder, 'packages.d.ts'), PACKAGES);
      const config = {
        extends: path.join(ROOT, 'tsconfig.json'),
        compilerOptions: { paths: { cronlease: [path.join(ROOT, 'src/index.ts')] } },
        include: [folder],
      };
      writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
      const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
      const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
        cwd: ROOT,
        encoding: 'utf8',
      });
      // What is wrong with the library itself is said elsewhere.
      expect(stdout.split('\n').filter((line) => line !== '' && !/^(?:src\/| )/.test(line))).toEqual([]);
    });
  });

  it('has a name for every snippet', () => {
    expect(snippets().filter(({ language, name }) => language === '' || name === '')).toEqual([]);
    expect(snippets().length).toBeGreaterThan(10);
  });

  it('has one way of taking a fence', () => {
    const words = (text: string): string => text.replaceAll(/[\s;]+/g, ' ').trim();
    expect(words(snippet('under-fence'))).toContain(words(snippet('take-fence')));
  });
});
