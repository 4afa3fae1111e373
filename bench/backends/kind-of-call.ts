/** The path at which the emulator answers with its counts. */
export const CALLS_PATH = '/bench/calls';

/** What a request to blob storage does, in a word or two: `acquire`, `metadata`, `list`, `put`, `read`, … */
export function kindOf(method: string, target: string, leaseAction: string | string[] | undefined): string {
  if (leaseAction !== undefined) return String(leaseAction);
  const { searchParams, pathname } = new URL(target, 'http://storage');
  const comp = searchParams.get('comp');
  if (comp !== null) return comp;
  if (searchParams.get('restype') === 'container') return 'container';
  const room = pathname.split('/')[3] ?? '';
  const verb = method === 'GET' ? 'read' : method.toLowerCase();
  return `${verb} ${room}`.trim();
}
