import type { ListedRow } from '../../lease/store';

/** The port's terms for the service's lease states. A state that is not known yet is no reason to take the lease. */
export function leaseOf(state: string): Pick<ListedRow, 'lease' | 'isEnding'> {
  switch (state) {
    case 'available':
    case 'expired':
    case 'broken':
      return { lease: state };
    case 'breaking':
      return { lease: 'broken', isEnding: true };
    default:
      return { lease: 'leased' };
  }
}
