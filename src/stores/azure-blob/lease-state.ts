import type { ListedRow } from '../../lease/store';

/** Translates the service's lease states into the port's terms. An unknown state counts as leased. */
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
