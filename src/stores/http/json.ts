type Json = Readonly<Record<string, unknown>>;

export function objectIn(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Numbers may come as texts. */
export function textIn(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
