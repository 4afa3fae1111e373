import type { EpochMs } from '../core/brand';
import type { TryEnd } from '../core/delivery';
import type { Notice } from '../core/notice';
import { MASK } from '../core/redact';
import { format } from './formats';
import { ForbiddenAddressError } from './guard';
import type { Posted, Posting } from './post';
import { PostError } from './post';
import type { Origin, Receiver } from './receiver';
import { signatureHeaders } from './signature';

/** Makes one call. Throws `ForbiddenAddressError` or `PostError`. */
export type Call = (posting: Posting) => Promise<Posted>;

/** One try to deliver a notice. Never rejects. */
export async function tryOnce(
  call: Call,
  receiver: Receiver,
  notice: Notice,
  { origin, now }: { readonly origin: Origin; readonly now: EpochMs },
): Promise<TryEnd> {
  const { contentType, body } = format(receiver.format, notice, origin, receiver.routingKey);
  const headers = {
    'content-type': contentType,
    'user-agent': 'cronlease',
    ...signatureHeaders(receiver.secrets, { id: notice.id, at: now, body }),
  };
  try {
    return endOf(receiver, await call({ address: receiver.address, headers, body }));
  } catch (error) {
    if (error instanceof ForbiddenAddressError || error instanceof PostError) {
      return { kind: 'failed', why: error.message, isThrottled: false, retryAfterMs: undefined };
    }
    throw error;
  }
}

/** Only 2xx is a success. A redirect is not followed, and so is a failure. */
function endOf(receiver: Receiver, { status, retryAfterMs, text }: Posted): TryEnd {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  if (status === 410) return { kind: 'gone' };
  const said = text === '' ? '' : `: ${hideSecrets(receiver, text)}`;
  const isThrottled = status === 429 || status === 502 || status === 504;
  return { kind: 'failed', why: `it answered ${String(status)}${said}`, isThrottled, retryAfterMs };
}

/** An answer may repeat the address, or the key, that it was called with. */
function hideSecrets({ address, routingKey }: Receiver, text: string): string {
  const { href, pathname, search } = address;
  const parts = [href, `${pathname}${search}`, search.slice(1), ...pathname.split('/'), routingKey ?? ''];
  return parts.filter((part) => part.length > 5).reduce((hidden, part) => hidden.replaceAll(part, MASK), text);
}
