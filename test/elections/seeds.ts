/** As many trials of each contender in each scenario has docs/evidence/elections.md. */
export const SEEDS = 20;
