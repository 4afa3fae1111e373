import { allowanceOf, decodeLayout } from '../../core/layout';
import { ForeignMetadataError } from '../../core/metadata';
import type { ListedControl } from '../../lease/store';
import type { LayoutsSeen } from './list-jobs';

export interface LayoutTrouble {
  readonly reason: string;
  /** Whether something else wrote the layout. */
  readonly isForeign: boolean;
}

/**
 * The accounts in which a deployment with the caller's list would claim nothing, and why.
 *
 * @param location the account, if only one was listed
 */
export function layoutTroubles(location: string, { layout, accounts }: LayoutsSeen): readonly LayoutTrouble[] {
  const seen = accounts ?? [{ location, layout }];
  const locations = seen.map((account) => account.location);
  return seen.flatMap((account, index) => {
    if (account.layout === 'missing') return [];
    const trouble = troubleIn(locations, index, account.layout);
    return trouble === undefined ? [] : [trouble];
  });
}

function troubleIn(
  accounts: readonly string[],
  index: number,
  listed: ListedControl | undefined,
): LayoutTrouble | undefined {
  try {
    const allowance = allowanceOf({ accounts, index }, listed && decodeLayout(listed.metadata));
    return allowance.claims === 'all' ? undefined : { reason: allowance.reason, isForeign: false };
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    return { reason: `the layout in ${accounts[index] ?? ''} cannot be read: ${error.message}`, isForeign: true };
  }
}
