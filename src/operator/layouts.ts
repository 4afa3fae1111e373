import { allowanceOf, decodeLayout } from '../core/layout';
import { ForeignMetadataError } from '../core/metadata';
import type { ListedControl } from '../lease/store';
import type { LayoutsSeen } from './list-jobs';

/**
 * The accounts in which a deployment with the caller's list claims nothing, with reasons.
 *
 * @param location the account of a listing of one account
 */
export function layoutTroubles(location: string, { layout, accounts }: LayoutsSeen): readonly string[] {
  const seen = accounts ?? [{ location, layout }];
  const locations = seen.map((account) => account.location);
  return seen.flatMap((account, index) => {
    if (account.layout === 'missing') return [];
    const reason = reasonIn(locations, index, account.layout);
    return reason === undefined ? [] : [reason];
  });
}

function reasonIn(accounts: readonly string[], index: number, listed: ListedControl | undefined): string | undefined {
  try {
    const allowance = allowanceOf({ accounts, index }, listed && decodeLayout(listed.metadata));
    return allowance.claims === 'all' ? undefined : allowance.reason;
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    return `the layout in ${accounts[index] ?? ''} cannot be read: ${error.message}`;
  }
}
