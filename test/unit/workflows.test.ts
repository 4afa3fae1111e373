import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';

const root = path.join(__dirname, '../..');
const folder = path.join(root, '.github/workflows');

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}
interface Job {
  readonly needs?: string | readonly string[];
  readonly if?: string;
  readonly environment?: string;
  readonly 'timeout-minutes'?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: Readonly<Record<string, unknown>>;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: object;
  readonly permissions?: object;
  readonly concurrency: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

function parse(text: string): unknown {
  const document = parseDocument(text, { strict: true, uniqueKeys: true });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) throw problem;
  return document.toJS();
}

/** What a reviewer would strike out of any workflow, in words. */
function problemsOf(text: string): string[] {
  const workflow = parse(text) as Workflow;
  const problems: string[] = [];
  if (/\bsecrets\b/.test(text)) problems.push('it uses a secret');
  if (JSON.stringify(workflow.permissions) !== '{}') problems.push('jobs get permissions that they do not ask for');
  if ('pull_request_target' in workflow.on) problems.push('code of a pull request runs with the rights of the base');
  for (const [, use = ''] of text.matchAll(/uses: (.*)/g)) {
    if (!/^[\w-]+(?:\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(use))
      problems.push(`${use} is not pinned by commit`);
  }
  for (const [name, job] of Object.entries(workflow.jobs)) {
    if (job.permissions === undefined) problems.push(`${name} does not say what it may`);
    if (job['timeout-minutes'] === undefined) problems.push(`${name} may run for 6 hours`);
    const writes = Object.values(job.permissions ?? {}).includes('write');
    for (const { uses = '', run = '', with: given = {} } of job.steps) {
      if (run.includes('${{')) problems.push(`${name} writes an expression into a script: ${run}`);
      if (uses.startsWith('actions/checkout@') && given['persist-credentials'] !== false) {
        problems.push(`${name} leaves its token in the work tree`);
      }
      if (writes && /npm (ci|install|run|test)/.test(run)) problems.push(`${name} may write, and runs ${run}`);
    }
  }
  return problems;
}

const workflows = Object.fromEntries(
  readdirSync(folder).map((file) => [file, readFileSync(path.join(folder, file), 'utf8')]),
);
const ci = parse(workflows['ci.yml'] ?? '') as Workflow;
const deploy = parse(workflows['deploy.yml'] ?? '') as Workflow;

function stepOf(job: Job | undefined, action: string): Step {
  const step = job?.steps.find(({ uses }) => uses?.toLowerCase().startsWith(`${action}@`));
  if (step === undefined) throw new Error(`no step uses ${action}`);
  return step;
}

function scriptsOf(job: Job | undefined): string {
  return (job?.steps ?? []).flatMap(({ run }) => run ?? []).join('\n');
}

describe('the workflows', () => {
  it.each(Object.keys(workflows))('%s has nothing to strike out', (file) => {
    expect(problemsOf(workflows[file] ?? '')).toEqual([]);
  });

  it.each([
    ['persist-credentials: false', 'persist-credentials: true'],
    ['permissions: {}', 'permissions: write-all'],
    ['@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1', '@v7'],
    ['node-version: 24', 'token: ${{ secrets.TOKEN }}'],
    ['run: npm run test:all', 'run: echo ${{ github.event.pull_request.title }}'],
    ['  pull_request:\n', '  pull_request_target:\n'],
    ['      contents: read', '      contents: write'],
    ['    timeout-minutes: 30\n', ''],
    ['    permissions:\n      contents: read\n', ''],
  ])('what is planted for %j is seen', (text, planted) => {
    const file = workflows['ci.yml'] ?? '';
    expect(file).toContain(text);
    expect(problemsOf(file.replace(text, () => planted))).not.toEqual([]);
  });

  it('call scripts that are there, with options that they have', () => {
    const text = Object.values(workflows).join('\n');
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
    for (const [, script = ''] of text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)) {
      expect(Object.keys(scripts)).toContain(script);
    }
    for (const [, script = '', rest = ''] of text.matchAll(/node (scripts\/[\w-]+\.mjs)(.*)/g)) {
      for (const [option] of rest.matchAll(/--[a-z-]+/g)) expect(read(script)).toContain(option);
    }
  });
});

describe('ci.yml', () => {
  it('checks what a pull request would merge', () => {
    expect(ci.on).toHaveProperty('pull_request');
    expect(scriptsOf(ci.jobs['test'])).toBe('npm ci\nnpm run test:all');
    expect(scriptsOf(ci.jobs['jobs-file'])).toContain('cronlease -- validate');
    expect(scriptsOf(ci.jobs['jobs-file'])).toContain('node scripts/changed-jobs.mjs');
  });

  it('comments from a job of its own, which runs nothing of the pull request', () => {
    const { jobs } = ci;
    const writing = Object.entries(jobs).filter(([, job]) => JSON.stringify(job.permissions).includes('write'));
    expect(writing.map(([name, job]) => [name, job.permissions])).toEqual([['comment', { 'pull-requests': 'write' }]]);
    const { comment } = jobs;
    expect(scriptsOf(comment).trim()).toBe('');
    expect(comment?.steps.map(({ uses = '' }) => uses.split('@')[0])).toEqual([
      'actions/download-artifact',
      'actions/github-script',
    ]);
    expect(comment?.needs).toBe('jobs-file');
    expect(comment?.if).toContain('head.repo.full_name == github.repository');
    const made = stepOf(jobs['jobs-file'], 'actions/upload-artifact').with;
    expect(stepOf(comment, 'actions/download-artifact').with?.['name']).toBe(made?.['name']);
    // A folder whose name begins with a dot would not be uploaded.
    expect(made?.['path']).not.toMatch(/(^|\/)\./);
  });

  it('updates the comment that it made, or makes one', async () => {
    const script = String(stepOf(ci.jobs['comment'], 'actions/github-script').with?.['script']);
    const calls: unknown[] = [];
    const call = (name: string) => (given: object) => void calls.push({ name, ...given });
    const run = async (comments: readonly object[]): Promise<void> => {
      const issues = { listComments: 'list', createComment: call('create'), updateComment: call('update') };
      const github = { paginate: () => comments, rest: { issues } };
      const context = { repo: { owner: 'o', repo: 'r' }, issue: { number: 7 } };
      const load = (): object => ({ readFileSync: () => '### Jobs' });
      await runInNewContext(`(async () => {${script}})()`, { github, context, require: load });
    };
    const body = '<!-- cronlease: jobs.json -->\n### Jobs';
    await run([{ id: 1, user: { type: 'User' }, body }]);
    await run([{ id: 2, user: { type: 'Bot' }, body: `${body} of before` }]);
    expect(calls).toEqual([
      { name: 'create', owner: 'o', repo: 'r', issue_number: 7, body },
      { name: 'update', owner: 'o', repo: 'r', comment_id: 2, body },
    ]);
  });
});

describe('deploy.yml', () => {
  const job = deploy.jobs['deploy'];

  it('packages once, after the tests, and deploys that package everywhere', () => {
    const made = deploy.jobs['package'];
    expect(scriptsOf(deploy.jobs['test'])).toBe('npm ci\nnpm run test:all');
    expect(made?.needs).toBe('test');
    const sbom = 'npm sbom --package-lock-only --sbom-format cyclonedx > package/sbom.cdx.json';
    // No install script runs where the package is made.
    expect(scriptsOf(made)).toBe(`npm ci --ignore-scripts\nnpm run package\n${sbom}`);
    expect(job?.needs).toEqual(['package', 'attest']);
    const { name, path: where } = stepOf(made, 'actions/upload-artifact').with ?? {};
    expect(stepOf(job, 'actions/download-artifact').with).toEqual({ name, path: where });
    expect(scriptsOf(job)).not.toContain('npm');
  });

  it('does one region after another, and none after one that failed', () => {
    expect(job?.strategy).toEqual({
      'max-parallel': 1,
      'fail-fast': true,
      matrix: { app: '${{ fromJSON(vars.CRONLEASE_APPS) }}' },
    });
    expect(deploy.concurrency).toEqual({ group: 'deploy', 'cancel-in-progress': false });
    const last = job?.steps.at(-1);
    expect(last?.run).toBe('node scripts/deploy.mjs --coordination "$COORDINATION" "$APP"');
    expect(last?.env?.['APP']).toBe('${{ matrix.app }}');
  });

  it('attests the zip and its bill of materials, where no code of the repository runs', () => {
    const attest = deploy.jobs['attest'];
    expect(attest?.needs).toBe('package');
    expect(attest?.permissions).toEqual({ 'id-token': 'write', attestations: 'write' });
    expect(scriptsOf(attest)).toBe('');
    const attested = attest?.steps.filter(({ uses }) => uses?.startsWith('actions/attest@')).map((step) => step.with);
    const zip = { 'subject-path': 'package/cronlease.zip' };
    expect(attested).toEqual([zip, { ...zip, 'sbom-path': 'package/sbom.cdx.json' }]);
    expect(job?.if).toContain("needs.package.result == 'success' && needs.attest.result != 'failure'");
  });

  it('logs in by OIDC, in the job that deploys alone', () => {
    const { with: given } = stepOf(job, 'azure/login');
    expect(Object.keys(given ?? {}).toSorted()).toEqual(['client-id', 'subscription-id', 'tenant-id']);
    expect(Object.values(given ?? {}).every((value) => /^\$\{\{ vars\.\w+ \}\}$/.test(String(value)))).toBe(true);
    expect(job?.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(deploy.jobs['package']?.permissions).toEqual({ contents: 'read' });
    expect(job?.environment).toBe('production');
  });
});

describe('release.yml', () => {
  const release = parse(workflows['release.yml'] ?? '') as Workflow;
  const { test, pack, publish, announce } = release.jobs;

  it('runs for tags of versions alone, one at a time', () => {
    expect(release.on).toEqual({ push: { tags: ['v*'] } });
    expect(release.concurrency).toEqual({ group: 'release', 'cancel-in-progress': false });
  });

  it('checks tag and changelog, then tests, then packs where no test and no install script has run', () => {
    const check = 'node scripts/release.mjs --tag "$GITHUB_REF_NAME"';
    expect(scriptsOf(test)).toBe(`${check}\nnpm ci\nnpm run test:all`);
    expect(pack?.needs).toBe('test');
    const steps = scriptsOf(pack);
    const places = [check, 'npm ci --ignore-scripts', 'npm run pack '].map((step) => steps.indexOf(step));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(steps).not.toMatch(/npm (?:test|run test|ci$)/m);
    for (const job of [test, pack]) expect(job?.permissions).toEqual({ contents: 'read' });
  });

  it('publishes that package with its provenance, where no other code runs', () => {
    const made = stepOf(pack, 'actions/upload-artifact').with;
    for (const job of [publish, announce]) {
      expect(stepOf(job, 'actions/download-artifact').with).toEqual({ name: made?.['name'], path: made?.['path'] });
      expect(() => stepOf(job, 'actions/checkout')).toThrow();
    }
    expect(publish?.permissions).toEqual({ 'id-token': 'write' });
    expect(publish?.environment).toBe('npm');
    expect(publish?.needs).toBe('pack');
    expect(scriptsOf(publish)).toBe('npm publish --provenance --access public release/cronlease-*.tgz');
    expect(announce?.needs).toBe('publish');
    expect(announce?.permissions).toEqual({ contents: 'write' });
    expect(scriptsOf(announce)).toContain('--notes-file release/notes.md');
  });
});

describe('azure.yaml', () => {
  interface Hook {
    readonly posix: { readonly shell: string; readonly run: string };
    readonly windows: { readonly shell: string; readonly run: string };
  }
  interface AzdProject {
    readonly infra: { readonly path: string; readonly module: string };
    readonly workflows: { readonly up: { readonly steps: readonly { readonly azd: string }[] } };
    readonly hooks: Readonly<Record<string, Hook>>;
    readonly services: Readonly<
      Record<string, Readonly<Record<string, unknown>> & { readonly hooks: Record<string, Hook> }>
    >;
  }
  const text = read('azure.yaml');
  const project = parse(text) as AzdProject;
  const { app } = project.services;

  it('checks jobs.json before it provisions, and packages before it deploys', () => {
    expect(project.workflows.up.steps.map(({ azd }) => azd.split(' ')[0])).toEqual(['package', 'provision', 'deploy']);
    const hooks = { ...project.hooks, ...app?.hooks };
    expect(Object.keys(hooks)).toEqual(['preprovision', 'prepackage', 'postdeploy']);
    expect(hooks['preprovision']?.posix.run).toBe(
      'node scripts/deploy.mjs --parameters infra/prod.bicepparam && npm run --silent package -- --check',
    );
    expect(hooks['prepackage']?.posix.run).toBe('npm run --silent package');
    expect(hooks['postdeploy']?.posix.run).toBe('node scripts/deploy.mjs --first-is-deployed');
    for (const { posix, windows } of Object.values(hooks)) {
      expect(windows.run).toBe(posix.run);
      expect([posix.shell, windows.shell]).toEqual(['sh', 'pwsh']);
    }
  });

  it('deploys the package as it is, to the first region', () => {
    const { hooks: _, ...service } = app ?? {};
    expect(service).toEqual({
      host: 'function',
      language: 'ts',
      project: '.',
      dist: 'package/app',
      remoteBuild: false,
      resourceGroup: '${firstAppGroup}',
      resourceName: '${firstAppName}',
    });
  });

  it('and what it calls take outputs that the infrastructure has', () => {
    const { path: where, module } = project.infra;
    expect(existsSync(path.join(root, where, `${module}.bicepparam`))).toBe(true);
    const outputs = [...read('infra/main.bicep').matchAll(/^output (\w+)/gm)].map(([, name]) => name);
    expect(outputs).toEqual(expect.arrayContaining(['firstAppGroup', 'firstAppName']));
    expect(outputs).toEqual(expect.arrayContaining(['appNames', 'appGroups', 'coordinationUri']));
  });
});

describe('.funcignore', () => {
  const patterns = read('.funcignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  /**
   * As Core Tools reads a pattern: from the root of the path, to the end of a word
   * (GitIgnoreParser.PrepareRegexPattern).
   */
  const matches = (pattern: string, file: string): boolean =>
    new RegExp(`^${pattern.replace(/[.]/g, '\\.').replaceAll('*', '[^/]+')}\\b`).test(file);
  const goesAlong = (file: string): boolean =>
    patterns.some((pattern) => pattern.startsWith('!') && matches(pattern.slice(1), file)) ||
    !patterns.some((pattern) => !pattern.startsWith('!') && matches(pattern, file));

  it('lets nothing but the app go along when it is published from the root', () => {
    const listing = ['ls-files', '--cached', '--others', '--exclude-standard'];
    const files = execFileSync('git', listing, { cwd: root, encoding: 'utf8' }).trim().split('\n');
    const ignored = ['dist/app.js', 'dist/lib/index.js', 'node_modules/.bin/tsc', 'node_modules/@azure/functions/a.js'];
    ignored.push('package/app/host.json', 'package/cronlease.zip', '.azure/prod/.env', '.tmp/a', 'local.settings.json');
    const app = ['dist/app.js', 'host.json', 'jobs.json', 'package.json'];
    expect([...files, ...ignored].filter(goesAlong).toSorted()).toEqual(app);
  });

  it('does not name node_modules, which azd would take for a wish to build on the platform', () => {
    // azd applies the rules of git: a pattern with a slash matches what lies in a folder.
    const named = patterns.filter((pattern) => !pattern.includes('/') && matches(`${pattern}$`, 'node_modules'));
    expect(named).toEqual([]);
  });
});

describe('the pipelines of other services', () => {
  const texts = ['azure-devops', 'gitlab-ci'].map((name) => [name, read(`pipelines/${name}.yml`)] as const);

  it.each(texts)(
    '%s packages where nothing else ran, and deploys that package to one region after another',
    (_, text) => {
      parse(text);
      const order = ['.ci/run', 'npm ci --ignore-scripts', 'npm run package', 'node scripts/deploy.mjs --coordination'];
      const places = order.map((command) => text.indexOf(command));
      expect(places).not.toContain(-1);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      // The script waits at each gate: no option turns it off.
      expect(text).not.toMatch(/--health-only|--list|continueOnError|allow_failure/);
    },
  );

  it.each(texts)('%s deploys only the default branch, one run at a time, and knows no secret', (name, text) => {
    expect(text).toMatch(
      name === 'gitlab-ci' ? /CI_COMMIT_BRANCH == \$CI_DEFAULT_BRANCH/ : /include: \[main\]\npr: none/,
    );
    expect(text).toMatch(name === 'gitlab-ci' ? /resource_group: production/ : /lockBehavior: sequential/);
    expect(text).not.toMatch(/PASSWORD|_SECRET|_KEY\b/);
  });

  it.each(texts)('%s runs no script that it has just downloaded', (_, text) => {
    expect(text).not.toMatch(/\|\s*(?:sudo\s+)?(?:ba|da|z)?sh\b/);
  });
});
