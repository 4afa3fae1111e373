import { describe, expect, it } from 'vitest';
import type { JobInFile } from '../../src/config/schema';
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
  it('has several documents and lists, and objects of other kinds are passed over', () => {
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

  it('is refused whole if it is a Helm template, and not for braces in an argument', () => {
    expect(() => read(cronJob('schedule: {{ .Values.schedule }}'))).toThrow('jobs.yaml:6: this is a Helm template');
    expect(() => read(`{{- if .Values.on }}\n${cronJob('schedule: "0 1 * * *"')}{{- end }}\n`)).toThrow('jobs.yaml:1:');
    expect(read(cronJob('schedule: "0 1 * * *"').replace('[date]', '["--format", "{{.Names}}"]')).drafts).toHaveLength(
      1,
    );
  });

  it('is refused whole if it is no YAML', () => {
    expect(() => read('kind: CronJob\nspec: [1, 2\n')).toThrow(/jobs\.yaml:\d: this is not YAML/);
  });
});
