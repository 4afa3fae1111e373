import type { Strays } from '../../lease/store';
import { type Finding, problem, warning } from './finding';

/** Reports foreign blobs among cronlease's own, by name. */
export function strayBlobs(strays: Strays | undefined, folder: string): readonly Finding[] {
  if (strays === undefined) return [];
  const { count, names, harmful } = strays;
  const rest = count > names.length ? ` and ${count - names.length} others` : '';
  const what = count === 1 ? 'is a blob that cronlease does not write' : 'are blobs that cronlease does not write';
  return [
    warning('strays', folder, `${names.join(', ')}${rest} ${what}`, 'delete them: each listing reads them'),
    ...harmful.map((name) =>
      problem(
        'strays',
        name,
        'its metadata has a key that breaks listings by older versions of cronlease and by other programs',
        'delete the blob',
      ),
    ),
  ];
}
