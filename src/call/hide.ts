import { type Redact, mask, spelledFinder } from '../core/redact';

/** A shorter value is in most texts, and is not a secret. */
const SHORTEST = 4;

/** Hides these values, as they are and in base64, however JSON, an address or HTML writes them. */
export function hiding(values: Iterable<string>): Redact {
  const secrets = [...values]
    .filter((value) => value.length >= SHORTEST)
    .flatMap((value) => {
      const bytes = Buffer.from(value);
      return [value, bytes.toString('base64'), bytes.toString('base64url')];
    });
  const finders = [...new Set(secrets)].map((secret) => spelledFinder(secret));
  return (texts, most) =>
    texts.map((text) =>
      mask(
        text,
        finders.flatMap((find) => find(text)),
        most,
      ),
    );
}
