import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { init } from '../../src/cli/setup/init';
import { EXIT_CODES } from '../../src/cli/output';
import { createProgram } from '../../src/cli/program';
import { validate } from '../../src/cli/setup/validate';
import { RUN_TRIGGERS, TRIGGERS } from '../../src/core/outcome';

const root = path.join(__dirname, '../..');
const PROMISE = 'Every due time ends in exactly one recorded outcome.';

/** What a command writes to its two streams. */
function written(command: () => number): { code: number; out: string; err: string } {
  const texts = { out: '', err: '' };
  const keep =
    (name: 'out' | 'err') =>
    (text: unknown): boolean => {
      texts[name] += String(text);
      return true;
    };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep('out'));
  vi.spyOn(process.stderr, 'write').mockImplementation(keep('err'));
  const code = command();
  vi.restoreAllMocks();
  return { code, out: texts.out, err: texts.err };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the command line', () => {
  it('promises what README promises, and package.json does too', () => {
    expect(createProgram(() => undefined).description()).toContain(PROMISE);
    const { description } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      readonly description: string;
    };
    expect(description).toContain(PROMISE);
  });

  it('has help texts of at most 80 columns, and lists each command on one line', () => {
    const program = createProgram(() => undefined);
    const helps = [program, ...program.commands].map((command) => command.helpInformation());
    const lines = helps.flatMap((text) => text.split('\n'));
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const [, list = ''] = /^Commands:\n(.*?)\n\n/ms.exec(`${helps[0] ?? ''}\n\n`) ?? [];
    expect(list.split('\n').filter((line) => !/^ {2}\S/.test(line))).toEqual([]);
  });

  it('filters runs by what can start one: a take-over continues the run of another trigger', () => {
    const runs = createProgram(() => undefined).commands.find((command) => command.name() === 'runs');
    const trigger = runs?.options.find(({ long }) => long === '--trigger');
    expect(trigger?.argChoices).toEqual([...RUN_TRIGGERS]);
    expect(TRIGGERS.filter((one) => !RUN_TRIGGERS.some((other) => other === one))).toEqual(['takeOver']);
  });

  it('lists each exit code that a command may end with', () => {
    expect(EXIT_CODES.map(({ code }) => code)).toEqual([0, 1, 2, 3, 130]);
    const command = createProgram(() => undefined);
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(/^ {2}0 {4}success/m);
    // "logs" has --follow too, and ends with 0 whatever became of the run.
    expect(help).toMatch(/^ {2}3 {4}run and rerun, with --wait or --follow: /m);
    expect(help).toMatch(/^ {2}130 {2}dev: /m);
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('init names the folder by its whole path', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-init-'));
    const { out } = written(() => init(path.relative('.', folder), {}));
    rmSync(folder, { recursive: true });
    expect(out.split('\n')[0]).toBe(`Wrote an app of 11 files to ${folder}. Next:`);
  });

  it('validate does not judge a file that it could not read', () => {
    const { code, err } = written(() => validate({ file: '/nope.json' }));
    expect(code).toBe(1);
    expect(err).toContain('/nope.json does not exist');
    expect(err).not.toContain('not valid');
  });
});
