import { describe, expect, it } from 'vitest';
import type { JobInFile } from '../../src/config/job-in-file';
import { readK8s } from '../../src/import/k8s';

const OPTIONS = { now: Date.UTC(2026, 0, 1), timeZone: 'UTC' };
const read = (text: string) => readK8s('jobs.yaml', text, OPTIONS);

/** A CronJob with these lines in its spec, and in that of its Job. */
function cronJob(spec: string, job = 'activeDeadlineSeconds: 60'): string {
  const indented = (text: string, by: number): string =>
    text
      .split('\n')
      .map((line) => ' '.repeat(by) + line)
      .join('\n');
  return `apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly
spec:
${indented(spec, 2)}
  jobTemplate:
    spec:
${indented(job, 6)}
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: one
              image: busybox:1.36
              args: [date]
`;
}

function settingsOf(spec: string, job?: string): JobInFile | undefined {
  return read(cronJob(spec, job)).drafts[0]?.settings;
}

describe('a CronJob', () => {
  it('becomes a job with the policies of its spec', () => {
    const spec =
      'schedule: 30 2 * * 1-5\ntimeZone: Europe/Berlin\nconcurrencyPolicy: Forbid\nstartingDeadlineSeconds: 200';
    const { drafts, notes } = read(cronJob(spec, 'backoffLimit: 2\nactiveDeadlineSeconds: 600'));
    expect(drafts).toEqual([
      {
        ...{ file: 'jobs.yaml', line: 4, name: 'nightly' },
        settings: {
          ...{ schedule: '30 2 * * 1-5', timeZone: 'Europe/Berlin', dst: { gap: 'skip', overlap: 'both' } },
          ...{ description: 'busybox:1.36 date', overlap: 'queue', catchUpWindow: '3m20s', timeout: '10m' },
          retry: { attempts: 3, backoff: '10s', factor: 2, maxBackoff: '6m', jitter: 'none' },
        },
      },
    ]);
    expect(notes.map(({ line, what }) => [line, what])).toEqual([[13, 'nightly: activeDeadlineSeconds: 600']]);
  });

  it.each<[string, Partial<JobInFile>]>([
    ['concurrencyPolicy: Replace', { overlap: 'cancel' }],
    ['concurrencyPolicy: Allow', { overlap: 'queue' }],
    ['suspend: true', { enabled: false }],
    ['suspend: yes', { enabled: false }],
    ['startingDeadlineSeconds: 0', { catchUp: 'none' }],
    ['timeZone: Etc/UTC', { timeZone: 'Etc/UTC' }],
  ])('with %s', (line, expected) => {
    expect(settingsOf(`schedule: "0 3 * * *"\n${line}`)).toMatchObject(expected);
  });

  it.each([
    ['@hourly', '0 * * * *'],
    ['@every 1.5h', '@every 1h30m'],
    ['@every 2500ms', '@every 2s'],
    ['@every 1.9999s', '@every 1s'],
    ['@every 2.3h', '@every 2h18m'],
    ['@every 1.15h30s', '@every 1h9m30s'],
    ['0 0 ? * 3/2', '0 0 * * 3,5'],
    ['TZ=Asia/Tokyo 0 3 * * *', '0 3 * * *'],
  ])('with the schedule %s', (schedule, expected) => {
    expect(settingsOf(`schedule: "${schedule}"`)?.schedule).toBe(expected);
  });

  it.each([
    ['0 0 * * 7', 'has "7" for day-of-week'],
    ['0 0 */2 * 1', 'disagree'],
    ['0 0 0 * * *', 'has 6 fields'],
    ['@every soon', 'has "soon" after @every'],
    ['@weekdays', 'has 1 fields'],
  ])('is left out with the schedule %s', (schedule, why) => {
    const { drafts, notes } = read(cronJob(`schedule: "${schedule}"`));
    expect(drafts).toEqual([]);
    expect(notes).toEqual([
      expect.objectContaining({ line: 6, leftOut: true, why: expect.stringContaining(why) as string }),
    ]);
  });

  it('is left out if its zone is unknown', () => {
    const { drafts, notes } = read(cronJob('schedule: "0 3 * * *"\ntimeZone: Mars/Base'));
    expect(drafts).toEqual([]);
    expect(notes[0]).toMatchObject({ leftOut: true, why: expect.stringContaining('not a time zone') as string });
  });

  it('is left out if it is not valid, with the place of the error', () => {
    const { drafts, notes } = read(cronJob('schedule: "0 3 * * *"\nsuspend: maybe'));
    expect(drafts).toEqual([]);
    expect(notes[0]).toMatchObject({ line: 7, leftOut: true, why: expect.stringContaining('spec.suspend') as string });
  });

  it('brings a note for each group of members that a job has not', () => {
    const spec =
      'schedule: "0 3 * * *"\nconcurrencyPolicy: Forbid\nsuccessfulJobsHistoryLimit: 1\nfailedJobsHistoryLimit: 1';
    const { notes } = read(cronJob(spec, 'completions: 3\npodReplacementPolicy: Failed'));
    expect(notes.map(({ what }) => what)).toEqual([
      'nightly: no activeDeadlineSeconds',
      'nightly: successfulJobsHistoryLimit, failedJobsHistoryLimit',
      'nightly: podReplacementPolicy',
      'nightly: completions',
    ]);
  });
});

describe('a manifest', () => {
  it('has several documents and lists, and objects of other kinds are skipped', () => {
    const item = cronJob('schedule: "0 3 * * *"')
      .trimEnd()
      .replace(/^/gm, '    ')
      .replace('    apiVersion', '  - apiVersion');
    const text = [
      cronJob('schedule: "0 1 * * *"'),
      'apiVersion: v1\nkind: ConfigMap\n',
      `apiVersion: v1\nkind: List\nitems:\n${item}\n`,
      cronJob('schedule: "0 2 * * *"').replace('batch/v1', 'batch/v1beta1'),
    ].join('---\n');
    const { drafts } = read(text);
    expect(drafts.map(({ line, settings }) => [line, settings.schedule])).toEqual([
      [4, '0 1 * * *'],
      [27, '0 3 * * *'],
      [44, '0 2 * * *'],
    ]);
  });

  it('of an unknown version is left out', () => {
    const { notes } = read(cronJob('schedule: "0 1 * * *"').replace('batch/v1', 'batch/v2alpha1'));
    expect(notes).toEqual([expect.objectContaining({ line: 1, what: 'CronJob of batch/v2alpha1', leftOut: true })]);
  });

  it.each([
    ['an action without quotes', cronJob('schedule: {{ .Values.schedule }}'), 6],
    ['an action around lines', `{{- if .Values.on }}\n${cronJob('schedule: "0 1 * * *"')}{{- end }}\n`, 1],
    ['a comment', `{{/* Nightly */}}\n${cronJob('schedule: "0 1 * * *"')}`, 1],
    ['an action of a library', `${cronJob('schedule: "0 1 * * *"')}---\n{{ template "lib.cronjob" . }}\n`, 18],
  ])('is refused whole if it is a Helm template: %s', (_, text, line) => {
    expect(() => read(text)).toThrow(`jobs.yaml:${line}: this is a Helm template`);
  });

  it('is no Helm template for braces in a text', () => {
    for (const args of [
      '["--format", "{{.Names}}"]',
      '["--set={{ .Values.tag }}"]',
      "['{{ range $x := .Items }}{{ end }}']",
    ]) {
      const { drafts } = read(cronJob('schedule: "0 1 * * *"').replace('[date]', args));
      expect(drafts, args).toMatchObject([{ name: 'nightly', settings: { schedule: '0 1 * * *' } }]);
    }
    expect(
      read('apiVersion: v1\nkind: ConfigMap\ndata:\n  alert: "{{ $labels.job }} of {{ .Values.x }}"\n').notes,
    ).toEqual([]);
  });

  it.each([
    ['schedule: "{{ .Values.schedule }}"', 'activeDeadlineSeconds: 60', 6, 'schedule'],
    ['schedule: 0 {{ .Values.hour }} * * *', 'activeDeadlineSeconds: 60', 6, 'schedule'],
    ['schedule: "0 1 * * *"\nsuspend: "{{ .Values.off }}"', 'activeDeadlineSeconds: 60', 7, 'suspend'],
    ['schedule: "0 1 * * *"', 'backoffLimit: "{{ .Values.limit }}"', 9, 'backoffLimit'],
  ])('leaves out a job with a template in a setting: %s, %s', (spec, job, line, what) => {
    const { drafts, notes } = read(cronJob(spec, job));
    expect(drafts).toEqual([]);
    expect(notes).toMatchObject([{ line, leftOut: true, remedy: 'Render it first: helm template CHART > FILE' }]);
    expect(notes[0]?.what).toContain(`nightly: ${what} "`);
  });

  it('is refused whole if it is no YAML', () => {
    expect(() => read('kind: CronJob\nspec: [1, 2\n')).toThrow(/jobs\.yaml:\d: this is not YAML/);
  });

  it('is refused whole if a schedule without quotes is an alias of nothing', () => {
    const text = 'kind: CronJob\nspec:\n  schedule: *nightly\n';
    expect(() => read(text)).toThrow(/jobs\.yaml:3: this is not YAML: the alias \*nightly has no anchor before it/);
  });

  it('is refused whole if its aliases multiply', () => {
    const lists = Array.from(
      { length: 9 },
      (_, at) => `l${at}: &l${at} [${`*l${at - 1}, `.repeat(at === 0 ? 0 : 9)}x]`,
    );
    expect(() => read(lists.join('\n'))).toThrow(/jobs\.yaml:1: this is not YAML: Excessive alias count/);
  });
});

/** An object with CronJobs in it, each at this indentation. */
function within(head: string, indent: number, ...jobs: readonly string[]): string {
  const items = jobs.map((job) => {
    const lines = job.trimEnd().split('\n');
    return lines.map((line, index) => ' '.repeat(indent) + (index === 0 ? '- ' : '  ') + line).join('\n');
  });
  return `${head}\n${items.join('\n')}\n`;
}

describe('a template of OpenShift', () => {
  const template = (parameters: string, ...jobs: readonly string[]): string =>
    `${within('apiVersion: template.openshift.io/v1\nkind: Template\nmetadata:\n  name: jobs\nobjects:', 0, ...jobs)}parameters:\n${parameters}`;

  it('has its parameters filled in by default, with a note where they are settings', () => {
    const job = cronJob(
      'schedule: ${WHEN}\nsuspend: ${{IDLE}}\nconcurrencyPolicy: Forbid',
      'activeDeadlineSeconds: ${{LIMIT}}',
    );
    const text = template(
      '- name: WHEN\n  value: "0 4 * * *"\n- name: IDLE\n  value: "true"\n- name: LIMIT\n  value: 120\n- name: TAG\n',
      job.replace('busybox:1.36', 'busybox:${TAG}'),
    );
    const { drafts, notes } = read(text);
    expect(drafts).toMatchObject([
      {
        ...{ line: 9, name: 'nightly' },
        settings: { schedule: '0 4 * * *', enabled: false, timeout: '2m', description: 'busybox:${TAG} date' },
      },
    ]);
    expect(notes.slice(0, 3).map(({ line, what, leftOut }) => [line, what, leftOut])).toEqual([
      [11, 'nightly: schedule "${WHEN}"', false],
      [12, 'nightly: suspend "${{IDLE}}"', false],
      [16, 'nightly: activeDeadlineSeconds "${{LIMIT}}"', false],
    ]);
    expect(notes[0]?.why).toContain('WHEN has by default: "0 4 * * *"');
  });

  it('leaves out a job with a parameter that has no value', () => {
    const { drafts, notes } = read(
      template(
        '- name: WHEN\n  required: true\n',
        cronJob('schedule: ${WHEN}'),
        cronJob('schedule: "0 5 * * *"').replace('nightly', 'other'),
      ),
    );
    expect(drafts.map(({ name }) => name)).toEqual(['other']);
    expect(notes[0]).toMatchObject({
      ...{ line: 11, leftOut: true, why: 'the parameter WHEN of the template has no value' },
      remedy: 'Render it first: oc process -f TEMPLATE -p WHEN=VALUE > FILE',
    });
  });
});

describe('objects with other objects in them', () => {
  const job = cronJob('schedule: "0 6 * * *"\nconcurrencyPolicy: Forbid');
  /** The job in a policy of configuration, as a value of a list's item. */
  const policy = (compliance: string): string =>
    `apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata: { name: nightly }
spec:
  remediationAction: enforce
  object-templates:
    - complianceType: ${compliance}
      objectDefinition:
${job.replace(/^(?=.)/gm, '        ')}`;

  it('such as policies of a cluster manager are opened', () => {
    expect(read(policy('musthave')).drafts).toMatchObject([
      { line: 12, name: 'nightly', settings: { schedule: '0 6 * * *' } },
    ]);
    const outer = `apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: { name: jobs }
spec:
  disabled: false
  policy-templates:
    - objectDefinition:
${policy('MustOnlyHave').replace(/^(?=.)/gm, '        ')}`;
    expect(read(outer).drafts).toMatchObject([{ line: 19, name: 'nightly' }]);
    expect(read(policy('mustnothave'))).toMatchObject({ drafts: [], notes: [{ line: 7, leftOut: true }] });
  });

  it('name the policy controller for their templates', () => {
    const { drafts, notes } = read(policy('musthave').replace('"0 6 * * *"', `'{{ fromConfigMap "a" "b" "when" }}'`));
    expect(drafts).toEqual([]);
    expect(notes).toMatchObject([
      { line: 14, leftOut: true, remedy: expect.stringContaining('policy controller') as string },
    ]);
  });

  it('such as sets for clusters are opened, in lists too', () => {
    const set = within('apiVersion: hive.openshift.io/v1\nkind: SelectorSyncSet\nspec:\n  resources:', 2, job);
    expect(read(set).drafts).toMatchObject([{ line: 8, name: 'nightly' }]);
    const lists = within(
      'apiVersion: v1\nkind: List\nitems:',
      0,
      within('apiVersion: batch/v1\nkind: CronJobList\nitems:', 0, job),
    );
    expect(read(lists).drafts).toMatchObject([{ name: 'nightly' }]);
  });

  it('are named where a CronJob is only text in them', () => {
    const { notes } = read(`apiVersion: v1\nkind: ConfigMap\ndata:\n  job.yaml: |\n${job.replace(/^(?=.)/gm, '    ')}`);
    expect(notes).toMatchObject([{ line: 4, what: 'data.job.yaml', leftOut: true }]);
  });

  it('are no references to a CronJob', () => {
    const text =
      'apiVersion: x/v1\nkind: Scaler\nspec:\n  target: { apiVersion: batch/v1, kind: CronJob, name: nightly }\n';
    expect(read(text)).toMatchObject({ drafts: [], notes: [] });
  });

  it.each(['schedule: "0 1 * * *"', 'schedules: ["0 1 * * *", "0 2 * * *"]'])(
    'are named if they have a schedule of another kind: %s',
    (schedule) => {
      const { notes } = read(`apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nspec:\n  ${schedule}\n`);
      expect(notes).toMatchObject([{ line: 4, leftOut: true, what: 'CronWorkflow of argoproj.io/v1alpha1' }]);
    },
  );
});

describe('files of kustomize', () => {
  it.each([
    ['apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n', 'Kustomization'],
    ['resources:\n  - ../base\npatches:\n  - path: cronjob.yaml\n', 'Kustomization'],
    ['- op: replace\n  path: /spec/schedule\n  value: "0 1 * * *"\n', 'JSON patches'],
    ['apiVersion: batch/v1\nkind: CronJob\nmetadata: { name: nightly }\nspec:\n  suspend: true\n', 'CronJob nightly'],
    [
      'apiVersion: batch/v1\nkind: CronJob\nmetadata: { name: nightly }\nspec:\n  schedule: "0 2 * * *"\n',
      'CronJob nightly',
    ],
  ])('are skipped, and the tool is named', (text, what) => {
    const { drafts, notes } = read(text);
    expect(drafts).toEqual([]);
    expect(notes).toMatchObject([
      { what, leftOut: true, remedy: expect.stringContaining('kustomize build') as string },
    ]);
  });
});
