import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { dollarsOf } from '../../scripts/cost-table';
import { createProgram } from '../../src/cli/program';
import { MAY_IMPORT } from '../support/rooms';

const root = path.join(__dirname, '../..');
const DOCUMENTS = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'SUPPORT.md',
  'examples/README.md',
  'examples/calls.md',
  'examples/fencing.md',
  'infra/README.md',
  'test/simulation/README.md',
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

const DECISIONS = DOCUMENTS.filter((file) => /^docs\/decisions\/\d/.test(file)).toSorted();

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

const readme = read('README.md');
const architecture = read('ARCHITECTURE.md');

/** The text under a heading, up to the next one of its level or higher. */
function section(text: string, heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start < 0) throw new Error(`there is no heading "${heading}"`);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => (/^(#+) /.exec(line)?.[1] ?? '#######').length <= level);
  return rest.slice(0, end < 0 ? undefined : end).join('\n');
}

/** What stands in backticks in one column of the tables of a section. */
function column(text: string, index: number): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim().startsWith('|'))
    .flatMap((line) => {
      const cell = line.trim().split(/(?<!\\)\|/)[index + 1] ?? '';
      return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');
    });
}

/** References to code, each as file and symbol. */
function cited(text: string): RegExpExecArray[] {
  return [...text.matchAll(/`((?:src|test|bench|scripts)\/[\w./-]+\.(?:tsx?|mjs)):(\w+)`/g)];
}

function withoutCode(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```$/gms, '');
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].toSorted();
}

/** Tokens with a letter or a digit, so that the frame of a table does not count. */
function wordsIn(text: string): number {
  return text.split(/[\s|]+/).filter((token) => /[\p{L}\p{N}]/u.test(token)).length;
}

/** The Markdown files of this repository that a page links to. */
function linkedFrom(file: string): readonly string[] {
  return [...withoutCode(read(file)).matchAll(/\]\((?!https?:)([^)#\s]+\.md)(?:#[^)\s]*)?\)/g)]
    .map(([, target]) => path.posix.join(path.posix.dirname(file), target ?? ''))
    .filter((target) => existsSync(path.join(root, target)));
}

describe('the map of the pages', () => {
  it('leads to every page within two clicks', () => {
    const first = linkedFrom('docs/README.md');
    const reached = new Set(['docs/README.md', ...first, ...first.flatMap(linkedFrom)]);
    const pages = DOCUMENTS.filter((file) => file.startsWith('docs/'));
    expect(pages.length).toBeGreaterThan(30);
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });

  it('is the first page that README names for further reading', () => {
    const [, first] = /\]\(([^)]*)\)/.exec(section(readme, '## Where next')) ?? [];
    expect(first).toBe('docs/README.md');
  });

  it('leaves the evidence to the explanations', () => {
    expect(linkedFrom('docs/README.md').filter((page) => page.startsWith('docs/evidence/'))).toEqual([]);
  });

  it.each([
    ['two regions', 'docs/tutorials/two-regions.md'],
    ['my job did not run last night', 'docs/how-to/my-job-did-not-run.md'],
    ['rotate a key', 'docs/how-to/rotate-keys.md'],
    ['move from timers', 'docs/how-to/from-timers.md'],
    ['what happens during a deploy', 'docs/how-to/upgrades.md'],
    ['test my handler', 'docs/how-to/writing-handlers.md#test-a-handler'],
    ['use it without Azure', 'docs/how-to/without-azure.md'],
    ['what does it cost', 'docs/explanation/cost.md'],
    ['what does it not promise', 'docs/explanation/guarantees.md'],
    ['which permissions does it need', 'infra/README.md#identities-and-roles'],
    ['how do I add a store', 'CONTRIBUTING.md#add-a-store'],
  ])('is not needed to find an answer to "%s": README links to it', (_question, target) => {
    expect(readme).toContain(`](${target})`);
  });

  it('has at most 400 words', () => {
    expect(wordsIn(read('docs/README.md'))).toBeLessThanOrEqual(400);
  });

  it.each([
    ['tutorials', 2_000],
    ['how-to', 16_000],
    ['reference', 16_000],
    ['explanation', 8_000],
  ])('leads into the folder %s, which has at most %d words', (folder, limit) => {
    const pages = DOCUMENTS.filter((file) => file.startsWith(`docs/${folder}/`));
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.reduce((sum, page) => sum + wordsIn(read(page)), 0)).toBeLessThanOrEqual(limit);
  });
});

describe('the guides', () => {
  it('README has one page, and names the test command', () => {
    expect(wordsIn(readme)).toBeLessThanOrEqual(1000);
    expect(readme).toContain('`npm test`');
    expect(readme).toContain('`npm run test:all`');
    expect(read('.ci/run')).toMatch(/^npm run test:all$/m);
  });

  it('name options that the commands have', () => {
    const { commands } = createProgram(() => undefined);
    const known = commands.flatMap((command) => command.options.map(({ long }) => long));
    const guides = DOCUMENTS.filter((file) => /^README|^docs\/(?:how-to|tutorials)\//.test(file)).map(read);
    const ours = guides.flatMap(
      (text) => text.match(/(?:npx cronlease|(?<=`)cronlease|^cronlease|npm start) [^`\n#]*/gm) ?? [],
    );
    const used = [...ours.join('\n').matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([option]) => option);
    expect(used.length).toBeGreaterThan(50);
    for (const option of used) expect([...known, '--help']).toContain(option);
  });

  it('have host.json as it is, where they show what matters', () => {
    const host = JSON.parse(read('host.json')) as object;
    const [, snippet = ''] =
      /What matters in `host\.json`:\n\n```json\n(.*?)```/s.exec(read('docs/how-to/existing-app.md')) ?? [];
    expect(host).toMatchObject(JSON.parse(snippet) as object);
  });

  it('install the dependency of azurite that this repository pins, and the version that it has', () => {
    const { overrides, version } = JSON.parse(read('package.json')) as {
      overrides: Readonly<Record<string, string>>;
      version: string;
    };
    for (const text of [readme, read('docs/how-to/existing-app.md')]) {
      for (const [name, pinned] of Object.entries(overrides)) expect(text).toContain(`overrides.${name}=${pinned}`);
      expect(text).toContain(`cronlease-${version}.tgz`);
    }
  });

  it('explain every check of doctor', () => {
    const checks = /export type Check =(.*?);/s.exec(read('src/operator/doctor/finding.ts'))?.[1] ?? '';
    const names = [...checks.matchAll(/'(\w+)'/g)].map(([, name]) => name ?? '');
    expect(names.length).toBeGreaterThan(20);
    expect(sorted(column(section(read('docs/how-to/recovery.md'), '## doctor'), 0))).toEqual(sorted(names));
  });

  it('list the roles that the templates assign, and no other', () => {
    const ids: Readonly<Record<string, string>> = {
      'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
      'Storage Blob Data Reader': '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1',
      'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
      'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88',
      'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
      'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb',
    };
    const templates = readdirSync(path.join(root, 'infra'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.bicep'))
      .map((file) => read(`infra/${file}`))
      .join('\n');
    const assigned = [...templates.matchAll(/'([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22})'/g)].map(([, id = '']) => id);
    const rows = section(read('infra/README.md'), '## Identities and roles').matchAll(
      /^\| ((?:Storage|Mon)[\w ]*?) +\|/gm,
    );
    expect(sorted([...rows].map(([, role = '']) => ids[role] ?? role))).toEqual(sorted(assigned));
  });

  it('give the templates only parameters that they have', () => {
    const calls = ['docs/how-to/existing-app.md', 'infra/README.md'].flatMap((file) => [
      ...read(file).matchAll(/--template-file (infra\/\S+\.bicep)((?:(?!```).)*)/gs),
    ]);
    expect(calls).toHaveLength(2);
    for (const [, template = '', options = ''] of calls) {
      const given = [...options.matchAll(/(?<=\s)([a-zA-Z]+)=/g)].map(([, name = '']) => name);
      expect(given.length).toBeGreaterThan(3);
      for (const name of given) expect(read(template)).toMatch(new RegExp(`^param ${name}\\b`, 'm'));
    }
    const outputs = DOCUMENTS.flatMap((file) => read(file).match(/(?<=properties\.outputs\.)\w+/g) ?? []);
    const templates = ['infra/main.bicep', 'infra/coordination.bicep'].map(read).join('\n');
    for (const name of outputs) expect(templates).toMatch(new RegExp(`^output ${name}\\b`, 'm'));
  });

  it('link each cell of the comparison to its source', () => {
    const [, ...rows] = read('docs/explanation/comparison.md').match(/^\| .*$/gm) ?? [];
    const cells = rows.filter((row) => !row.startsWith('| -')).map((row) => row.split('|').slice(2, -1));
    expect(cells.length).toBeGreaterThan(4);
    for (const cell of cells.flat()) expect(cell).toMatch(/\]\((?:https:\/\/|[\w./-]+\.md)/);
  });

  it('send keys only to the path where Azure lets them through', () => {
    const calls = DOCUMENTS.flatMap((file) => read(file).match(/curl .*x-cronlease-key.*/g) ?? []);
    expect(calls.length).toBeGreaterThan(3);
    for (const call of calls) expect(call).toContain('/api/manage/keyed/');
  });
});

/** What an editor of English marks, and what to write in its place. */
const MARKED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(?:no|any|some|every)body\b/gi, 'name who acts'],
  [/\balone\b/gi, 'only'],
  [/\beach (?:second|minute|hour|day|night|week|month|\d)/gi, 'every'],
  [/, since\b/gi, 'because'],
  [/\bof (?:its|their|your|our|one's) own\b/gi, 'its own, your'],
  [/(?<!there )\b(?:is|are|was|were) no (?!longer|more\b|older\b|one\b)[a-z]/gi, 'is not a'],
  [
    /\b(?:anew|in vain|for good|for ever|mended|seldom|lately|betimes|forthwith)\b/gi,
    'again, permanently, fixed, rarely',
  ],
  [/, also (?:if|of|after|when)\b/gi, 'even if, including'],
  [/(?:[.,;] )where (?:it|they|one|the|a|there)\b|\b(?:only|also) where\b/gi, 'if'],
  [/(?:^|[;:] )write (?:"|x\b|\d)/gi, 'must be, or use'],
];

/** Also in messages, help texts and descriptions. */
const IN_SOURCES: readonly RegExp[] = [
  ...MARKED.map(([pattern]) => pattern).filter((pattern) => !pattern.source.includes('alone')),
  // A job is left alone.
  /(?<!left )\balone\b/i,
  // As a remedy, in place of "must be" or "use".
  /[;:] write (?!row)|^write (?:an? (?!small app)|it\b|less\b|more\b|whole\b|your\b|\d|["{`<@$])/,
];

/** The sentences of a page, without code and the targets of links. */
function sentencesOf(page: string): readonly string[] {
  const text = withoutCode(read(page))
    .replaceAll(/`[^`\n]*`/g, 'x')
    .replaceAll(/\]\([^)]*\)/g, ']');
  const parts = text.split(/\n\s*\n|\n *(?:[-*]|\d+\.) |\n(?=\s*\|)|\|/);
  return parts.flatMap((part) => part.split(/(?<=[.!?:])\s+/));
}

describe.each(DOCUMENTS)('the language of %s', (page) => {
  it('has none of the phrases that an editor marks', () => {
    const found = sentencesOf(page).flatMap((sentence) =>
      MARKED.flatMap(([pattern, instead]) =>
        (sentence.match(pattern) ?? []).map((phrase) => ({ phrase, instead, sentence })),
      ),
    );
    expect(found).toEqual([]);
  });

  it('has no sentence of more than 35 words', () => {
    expect(sentencesOf(page).filter((sentence) => wordsIn(sentence) > 35)).toEqual([]);
  });

  it('has no colon that stands for "because"', () => {
    const text = withoutCode(read(page)).replaceAll(/`[^`\n]*`/g, '`');
    expect(text.match(/.*[a-z)]: (?:it|they|there|nothing|if)\b.*/g) ?? []).toEqual([]);
  });
});

/** README and the pages for users. */
const USER_PAGES = DOCUMENTS.filter((file) => /^README|^docs\/(?:explanation|how-to|reference|tutorials)\//.test(file));

/** Words that only insiders need. The task hub is Azure's, and so is a row of the reader's own table. */
const INSIDERS_WORD = /(?<!\b(?:in a|fence|task) )\b(?:rows?|controls?|cursors?|sweeps?|hubs?|look-ahead|layouts?)\b/;

describe.each(USER_PAGES)('the words of %s', (page) => {
  const text = sentencesOf(page).join('\n');

  it('lead to the glossary if only insiders need them', () => {
    if (/\/(?:glossary|fencing)\.md$/.test(page) || !INSIDERS_WORD.test(text)) return;
    expect(read(page), INSIDERS_WORD.exec(text)?.[0]).toMatch(/\]\([\w./]*glossary\.md/);
  });

  it('are those of the vocabulary', () => {
    expect(
      text.match(/\b(?:fates?|occurrences?|episodes?|quarantin\w+|incumbents?|passed over|lanes?)\b/g) ?? [],
    ).toEqual([]);
  });
});

describe.each(USER_PAGES.filter((page) => page !== 'README.md'))('%s', (page) => {
  it('opens with its readers', () => {
    expect(read(page)).toMatch(/^# .+\n\nFor /);
  });
});

/** The texts of a source that people read: literals of several words, and elements of pages. */
function textsOf(file: string): readonly string[] {
  const code = read(file).replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, '');
  const elements = file.endsWith('.tsx') ? code.matchAll(/(>)([^<>{}]{20,})</g) : [];
  const texts = [...code.matchAll(/(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1/g), ...elements];
  return texts.map(([, , text = '']) => text).filter((text) => wordsIn(text) > 2 && !text.startsWith('print {'));
}

/** The comments of a source, each in one line, without code. */
function commentsOf(file: string): readonly string[] {
  const comments = read(file).match(/^[ \t]*\/\*(?:(?!\*\/)[\s\S])*\*\/|(?:^[ \t]*\/\/.*\n)+/gm) ?? [];
  const lines = comments.map((comment) => comment.replaceAll(/\n[ \t]*(?:\*|\/\/)?[ \t]?/g, ' '));
  return lines.map((line) => line.replaceAll(/`[^`]*`/g, 'x'));
}

/** The sources in a folder, without those of packages. */
function sourcesIn(folder: string): readonly string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:tsx?|[cm]js|bicep)$/.test(file) && !file.includes('node_modules'))
    .map((file) => `${folder}/${file}`);
}

describe('the texts of the source', () => {
  const sources = ['src', 'infra', 'scripts'].flatMap(sourcesIn);

  it('have none of the phrases that an editor marks, and say what a value must be', () => {
    expect(sources.length).toBeGreaterThan(500);
    const found = sources.flatMap((file) =>
      textsOf(file)
        .filter((text) => IN_SOURCES.some((pattern) => text.search(pattern) >= 0))
        .map((text) => `${file}: ${text}`),
    );
    expect(found).toEqual([]);
  });

  it('have none of them in comments', () => {
    const marked = IN_SOURCES.slice(0, -1);
    const found = [...sources, ...['test', 'bench'].flatMap(sourcesIn)].flatMap((file) =>
      commentsOf(file)
        .filter((text) => marked.some((pattern) => text.search(pattern) >= 0))
        .map((text) => `${file}: ${text}`),
    );
    expect(found).toEqual([]);
  });

  it('are found in literals and pages', () => {
    expect(textsOf('src/config/zod-issues.ts')).toContain('must be true or false');
    expect(textsOf('src/dashboard/pages/help-page.tsx').join('\n')).toContain('It is always safe to read');
  });
});

describe('figures', () => {
  it('of money are those that "cronlease cost" computes', () => {
    const small = { memoryGb: 0.5 };
    const one = dollarsOf(root, 1, '* * * * *');
    const oneSmall = dollarsOf(root, 1, '* * * * *', small);
    const second = dollarsOf(root, 1, '* * * * *', { deployments: 2 }) - one;
    const secondSmall = dollarsOf(root, 1, '* * * * *', { ...small, deployments: 2 }) - oneSmall;
    const costs = read('docs/explanation/cost.md');
    expect([...costs.matchAll(/\$(\d+)/g)].map(([, dollars]) => Number(dollars))).toEqual([
      one,
      oneSmall,
      dollarsOf(root, 1, '@manual'),
      one,
      second,
      secondSmall,
    ]);
    for (const total of [one, oneSmall]) expect(read('infra/README.md')).toContain(`**about $${total}**`);
    expect(read('infra/README.md')).toContain(`costs about $${second} more`);
    expect(read('CHANGELOG.md')).toContain(`about $${dollarsOf(root, 1, '@manual')} a month for a region without runs`);
    const others = USER_PAGES.filter((page) => !/^README|\/(?:azure|cost)\.md$/.test(page));
    expect(others.filter((page) => /\$\d/.test(withoutCode(read(page)).replaceAll(/`[^`\n]*`/g, '')))).toEqual([]);
  });
});

describe.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', ...DECISIONS])('%s', (document) => {
  it('cites code that exists', () => {
    for (const [, file = '', symbol = ''] of cited(read(document))) {
      expect(existsSync(path.join(root, file)), file).toBe(true);
      const declared = new RegExp(`\\b(?:function\\*?|const|class|interface|type) ${symbol}\\b`);
      expect(declared.test(read(file)), `${file} declares ${symbol}`).toBe(true);
    }
  });
});

describe('the decisions', () => {
  it('are short, in the same three parts', () => {
    expect(DECISIONS.length).toBeGreaterThan(50);
    for (const decision of DECISIONS) {
      const text = read(decision);
      expect(wordsIn(text), decision).toBeLessThanOrEqual(200);
      const headings = [...text.matchAll(/^#+ .*$/gm)].map(([heading]) => heading);
      expect(headings.slice(1), decision).toEqual(['## Context', '## Decision', '## Consequence']);
    }
  });

  it('are numbered without a gap, and listed in their index by number and title', () => {
    const listed = [...read('docs/decisions/README.md').matchAll(/^\| \[(\d{3})\]\(([^)]+)\) +\| (.+?) +\|$/gm)];
    const entries = listed.map(([, number, file, title]) => ({ number, file: `docs/decisions/${file ?? ''}`, title }));
    const expected = DECISIONS.map((file, index) => ({
      number: String(index + 1).padStart(3, '0'),
      file,
      title: /^# (.*)$/m.exec(read(file))?.[1],
    }));
    expect(entries).toEqual(expected);
    for (const { number, file } of entries) expect(path.basename(file).slice(0, 4)).toBe(`${number}-`);
  });

  it('are named by the code that they explain', () => {
    const folders = ['src', 'scripts', 'bench', 'test/simulation'].flatMap(sourcesIn);
    const named = folders.flatMap((file) => read(file).match(/\b(?:Decision |docs\/decisions\/)\d{3}\b/g) ?? []);
    const numbers = named.map((name) => name.slice(-3));
    expect(sorted(numbers)).toEqual(DECISIONS.map((file) => path.basename(file).slice(0, 3)));
  });

  it('and ARCHITECTURE cite code', () => {
    const texts = ['ARCHITECTURE.md', ...DECISIONS].map(read);
    expect(texts.flatMap(cited).length).toBeGreaterThan(150);
  });
});

describe('ARCHITECTURE', () => {
  it('has at most 3,000 words', () => {
    expect(wordsIn(architecture)).toBeLessThanOrEqual(3000);
  });

  it('has every room', () => {
    const rooms = readdirSync(path.join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const listed = column(section(architecture, '## Rooms'), 0);
    expect(listed).toEqual(expect.arrayContaining(rooms.map(({ name }) => name)));
  });

  it('lists the rooms and their imports as the check of imports has them', () => {
    const rows = section(architecture, '## Rooms')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const listed = rows.map((row) => [column(row, 0)[0] ?? '', column(row, 3)] as const);
    const rooms = Object.entries(MAY_IMPORT).filter(([room]) =>
      statSync(path.join(root, 'src', room), { throwIfNoEntry: false })?.isDirectory(),
    );
    expect(rooms.length).toBeGreaterThan(10);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(rooms));
  });

  it('has every metadata field of a row', () => {
    const listed = column(section(architecture, '## In storage'), 0);
    const fields = [
      'format',
      'run',
      ...[...read('src/core/row.ts').matchAll(/\w+In(?:<\w+>)?\('(\w+)'/g)].map(([, name]) => name ?? ''),
    ];
    expect(fields.length).toBeGreaterThan(15);
    expect(sorted(listed.filter((name) => !name.includes('/')))).toEqual(sorted(fields));
  });
});

describe('CHANGELOG', () => {
  it('has at most 700 words', () => {
    expect(wordsIn(read('CHANGELOG.md'))).toBeLessThanOrEqual(700);
  });
});

it('SECURITY and SUPPORT have at most 600 words together', () => {
  expect(wordsIn(read('SECURITY.md')) + wordsIn(read('SUPPORT.md'))).toBeLessThanOrEqual(600);
});

describe('CONTRIBUTING', () => {
  it('gives a reason for every dependency', () => {
    const text = section(read('CONTRIBUTING.md'), '## Dependencies');
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, object>;
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) expect(text).toContain(`\`${name}\``);
  });
});

describe.each(DOCUMENTS)('%s', (document) => {
  const text = read(document);

  it('links to what is there', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target]) => target ?? '');
    for (const link of links) {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? document : path.join(path.dirname(document), file);
      expect(existsSync(path.join(root, target)), link).toBe(true);
      if (anchor === undefined) continue;
      const anchors = [...withoutCode(read(target)).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
        (title ?? '')
          .toLowerCase()
          .replaceAll(/[^\w\s-]/g, '')
          .trim()
          .replaceAll(/\s/g, '-'),
      );
      expect(anchors).toContain(anchor);
    }
  });

  it('names files and npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const [, script = ''] of text.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(script);
    const files = [...text.matchAll(/(?<![\w./-])((?:src|test|schema|infra|scripts)\/[\w/-]+(?:\.[a-z]+)+)\b/g)];
    // The reader's own.
    const example = ['src/jobs/greet.ts', 'src/functions/cronlease.js', 'src/app.ts', 'src/greet.ts'];
    example.push('src/total.ts', 'src/total.test.ts');
    for (const [, file = ''] of files) {
      if (!example.includes(file)) expect(existsSync(path.join(root, file)), file).toBe(true);
    }
  });
});
