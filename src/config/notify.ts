import { NOTICE_TOPICS, type NotifySettings } from '../core/notify';
import type { FileNotify, JobSettings } from './schema';

/** The job's own members before the file's. Undefined: nobody is notified. */
export function notifyOf(own: JobSettings['notify'], file: FileNotify): NotifySettings | undefined {
  if (own === false) return undefined;
  const { to, on = NOTICE_TOPICS, after = 1, remind } = { ...file, ...own };
  return to === undefined ? undefined : { to: [...new Set(to)], on, after, remindMs: remind };
}
