/** The roles, from the least: each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** Lets a viewer see the inputs and results of runs too; operators and admins see them anyway. */
export const PAYLOADS = 'payloads';

export interface Rights {
  readonly role: Role;
  readonly payloads: boolean;
}

export function includes(role: Role, wanted: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(wanted);
}

/** What some texts allow together; undefined if none of them is a role. */
export function rightsOf(texts: readonly string[]): Rights | undefined {
  const may = texts.includes(PAYLOADS);
  const role = ROLES.findLast((one) => texts.includes(one)) ?? (may ? 'viewer' : undefined);
  return role === undefined ? undefined : { role, payloads: may || includes(role, 'operator') };
}
