/** The kinds of calls to storage, in the order in which tables show them. */
export const CALL_KINDS = [
  'listing',
  'read',
  'properties',
  'write',
  'append',
  'metadata',
  'acquire',
  'renew',
  'change',
  'release',
  'break',
  'delete',
  'container',
] as const;

/** What one call to storage asks for. `write` creates or replaces a blob, `metadata` writes a row's or a control's. */
export type CallKind = (typeof CALL_KINDS)[number];

/** How many calls of each kind; a missing kind: none. */
export type CallCounts = Readonly<Partial<Record<CallKind, number>>>;
