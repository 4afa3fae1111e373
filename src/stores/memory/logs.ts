import type { JobName } from '../../core/brand';
import type { LogStore } from '../../lease/store';
import { checkLogText } from '../limits';
import { heed, type State } from './state';

export function logsOf({ logs }: State): LogStore {
  const ofJob = (job: JobName): Map<string, string> => {
    const all = logs.get(job) ?? new Map<string, string>();
    logs.set(job, all);
    return all;
  };
  return {
    async createLog(job, key, name, options) {
      heed(options);
      const all = ofJob(job);
      const id = `${key}/${name}`;
      if (all.has(id)) return 'exists';
      all.set(id, '');
      return 'created';
    },
    async appendLog(job, key, name, { text, at }, options) {
      heed(options);
      checkLogText(text);
      const all = ofJob(job);
      const id = `${key}/${name}`;
      const before = all.get(id);
      if (before?.length !== at) return 'refused';
      all.set(id, before + text);
      return 'appended';
    },
    async readLog(job, key, name, { from, limit }, options) {
      heed(options);
      return ofJob(job)
        .get(`${key}/${name}`)
        ?.slice(from, from + limit);
    },
    async listLogs(job, key, { limit, continuation = '' }, options) {
      heed(options);
      const found = [...ofJob(job)]
        .filter(([id]) => id.startsWith(`${key}/`))
        .map(([id, text]) => ({ name: id.slice(key.length + 1), bytes: text.length }))
        .filter(({ name }) => name > continuation)
        .sort((a, b) => (a.name < b.name ? -1 : 1));
      const page = found.slice(0, limit);
      return { logs: page, continuation: page.length < found.length ? page.at(-1)?.name : undefined };
    },
  };
}
