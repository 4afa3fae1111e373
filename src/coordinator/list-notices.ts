import type { JobName } from '../core/brand';
import { given } from '../core/given';
import { type Delivery, decodeDelivery } from '../core/delivery';
import { ifReadable } from '../core/metadata';
import { type Listed, listedNotice } from '../core/notice-sweep';
import type { ListedNotice, NoticeStore } from '../lease/store';

const NOTICES_A_PAGE = 500;

/** All stored notices, and what else lies among them: mostly one call. */
export async function listNotices(
  ask: <T>(call: (store: NoticeStore, signal: AbortSignal) => Promise<T>) => Promise<T>,
): Promise<readonly ListedNotice[]> {
  const found: ListedNotice[] = [];
  let continuation: string | undefined;
  do {
    const request = { limit: NOTICES_A_PAGE, ...given({ continuation }) };
    const page = await ask((store, signal) => store.listNotices(request, { signal }));
    found.push(...page.notices);
    continuation = page.continuation;
  } while (continuation !== undefined);
  return found;
}

/** The stored notices of one job. */
export async function noticesOf(job: JobName, ask: Parameters<typeof listNotices>[0]): Promise<readonly Listed[]> {
  const all = await listNotices(ask);
  return all.flatMap((one) => readListed(one) ?? []).filter((one) => one.job === job);
}

/** Undefined: it is not a notice of a job. */
export function readListed({ id, etag, metadata }: ListedNotice): Listed | undefined {
  const delivery = readDelivery(metadata);
  return delivery && listedNotice(id, etag, delivery);
}

export function readDelivery(metadata: ListedNotice['metadata']): Delivery | undefined {
  // If something else wrote the blob, nothing depends on it.
  return ifReadable(() => decodeDelivery(metadata));
}
