import { mask, placesOf, type Redact } from '../core/redact';

/** A shorter value is in most texts, and is not a secret. */
const SHORTEST = 4;

/** Hides these values, as they are and as JSON, an address or base64 has them. */
export function hiding(values: Iterable<string>): Redact {
  const secrets = [...values]
    .filter((value) => value.length >= SHORTEST)
    .flatMap((value) => [
      value,
      JSON.stringify(value).slice(1, -1),
      encodeURIComponent(value),
      Buffer.from(value).toString('base64'),
    ]);
  const unique = [...new Set(secrets)];
  return (texts, most) =>
    texts.map((text) =>
      mask(
        text,
        unique.flatMap((secret) => placesOf(secret, text)),
        most,
      ),
    );
}
