/** The roles, from the least: each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** Whether a role includes another one. */
export function includes(role: Role, wanted: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(wanted);
}

/** The highest role among some texts; undefined if none of them is a role. */
export function highestRole(texts: readonly string[]): Role | undefined {
  return ROLES.findLast((role) => texts.includes(role));
}
