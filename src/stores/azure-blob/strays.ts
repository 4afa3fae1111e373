import { hasUnlistableKey } from '../../core/metadata';
import type { Strays } from '../../lease/store';
import type { ListedBlob } from './listed-blob';

const STRAYS_NAMED = 10;

/** Collects the blobs of a listing that cronlease did not write. */
export function strayNotes(): { add(item: ListedBlob): void; found(): { readonly strays?: Strays } } {
  let count = 0;
  const names: string[] = [];
  const harmful: string[] = [];
  return {
    add(blob) {
      count += 1;
      if (names.length < STRAYS_NAMED) names.push(blob.name);
      if (harmful.length < STRAYS_NAMED && hasUnlistableKey(blob.metadata)) harmful.push(blob.name);
    },
    found: () => (count === 0 ? {} : { strays: { count, names, harmful } }),
  };
}
