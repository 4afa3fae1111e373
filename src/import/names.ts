import { ALL_JOBS } from '../config/readers';
import type { Draft } from './draft';

const LONGEST = 63;

/** The nearest name that a job can have: `NightlyReport` becomes `nightly-report`. */
export function jobNameFrom(text: string): string {
  const name = text
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-+|-+$/g, '');
  if (name === '') return 'job';
  return name === ALL_JOBS ? `${name}-jobs` : name;
}

/** Gives each job a name of its own, in order: later ones of the same name get a number. */
export function withNames(drafts: readonly Draft[]): readonly (Draft & { readonly job: string })[] {
  const taken = new Set<string>();
  return drafts.map((draft) => {
    const wanted = jobNameFrom(draft.name);
    let job = wanted;
    for (let number = 2; taken.has(job); number += 1)
      job = `${wanted.slice(0, LONGEST - 1 - String(number).length)}-${number}`;
    taken.add(job);
    return { ...draft, job };
  });
}
