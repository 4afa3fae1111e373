import type { JobName } from '../../core/brand';
import type { LogStore } from '../../lease/store';
import { checkLogText } from '../limits';
import { type Folder, heed, type State, written } from './state';

/** A log is an entry whose body grows. */
export function logsOf(state: State, folderOf: (job: JobName) => Folder): LogStore {
  const textOf = (body: string) => ({ ...written(state, {}), writtenMs: state.clock.now(), body });
  return {
    async createLog(job, key, name, options) {
      heed(options);
      const folder = folderOf(job);
      const id = `${key}/${name}`;
      if (folder.has(id)) return 'exists';
      folder.set(id, textOf(''));
      return 'created';
    },
    async appendLog(job, key, name, { text, at }, options) {
      heed(options);
      checkLogText(text);
      const folder = folderOf(job);
      const id = `${key}/${name}`;
      const before = folder.get(id)?.body;
      if (before?.length !== at) return 'refused';
      folder.set(id, textOf(before + text));
      return 'appended';
    },
    async readLog(job, key, name, { from, limit }, options) {
      heed(options);
      return folderOf(job)
        .get(`${key}/${name}`)
        ?.body.slice(from, from + limit);
    },
    async listLogs(job, key, { limit, continuation = '' }, options) {
      heed(options);
      const found = [...folderOf(job)]
        .filter(([id]) => id.startsWith(`${key}/`))
        .map(([id, { body }]) => ({ name: id.slice(key.length + 1), bytes: body.length }))
        .filter(({ name }) => name > continuation)
        .sort((a, b) => (a.name < b.name ? -1 : 1));
      const page = found.slice(0, limit);
      return { logs: page, continuation: page.length < found.length ? page.at(-1)?.name : undefined };
    },
  };
}
