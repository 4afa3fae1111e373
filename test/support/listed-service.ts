import type { EpochMs } from '../../src/core/brand';
import type { ControlStore } from '../../src/lease/store';
import { quoted } from '../../src/stores/azure-blob/layout';
import { blobOf, type ListedBlob } from '../../src/stores/azure-blob/listing-xml';
import type { AskPage } from '../../src/stores/azure-blob/listing';

/** Lists blobs as the service does: in order of name, from a name or a marker on, on pages that may be short or empty. */
export interface ListedService {
  readonly askPage: AskPage;
  readonly readControl: ControlStore['readControl'];
  /** Replaces all blobs. */
  hold(names: readonly string[]): void;
  /** A signal that is aborted once so many pages have been requested. */
  afterCalls(calls: number): AbortSignal;
  /** The Dates of the pages that showed this blob. */
  datesOf(name: string): readonly EpochMs[];
}

/** @param shortPages the most blobs on the first pages */
export function listedService(
  held: readonly string[],
  { pageSize, shortPages }: { readonly pageSize: number; readonly shortPages: readonly number[] },
): ListedService {
  let names = held;
  let calls = 0;
  let date = Date.UTC(2026, 0, 1);
  const dates = new Map<string, EpochMs[]>();
  const counted = new Map<number, AbortController>();
  const note = (name: string): void => {
    dates.set(name, [...(dates.get(name) ?? []), date]);
  };
  return {
    async askPage(_what, { prefix, limit = pageSize, start = '', continuation = '' }, options) {
      options?.signal?.throwIfAborted();
      const most = Math.min(limit, pageSize, shortPages[calls] ?? pageSize);
      calls += 1;
      date += 1_000;
      counted.get(calls)?.abort();
      // The answer comes later, so that those of several calls may change their order.
      for (let turn = calls % 3; turn >= 0; turn -= 1) await Promise.resolve();
      options?.signal?.throwIfAborted();
      const left = names.filter((name) => name.startsWith(prefix) && name >= start && name > continuation);
      const shown = left.slice(0, most);
      for (const name of shown) note(name);
      const next = left.length === shown.length ? undefined : (shown.at(-1) ?? continuation);
      return { blobs: shown.map(listed), continuation: next, date };
    },
    async readControl(job) {
      const name = `jobs/${job}/control`;
      date += 1_000;
      note(name);
      return { control: names.includes(name) ? { etag: quoted('e'), metadata: {} } : undefined, date };
    },
    hold(next) {
      names = next;
    },
    afterCalls(more) {
      const enough = new AbortController();
      counted.set(calls + more, enough);
      return enough.signal;
    },
    datesOf: (name) => dates.get(name) ?? [],
  };
}

function listed(name: string): ListedBlob {
  const property = (wanted: string): string | undefined => (wanted === 'Etag' ? 'e' : undefined);
  return blobOf(name, property, () => []);
}
