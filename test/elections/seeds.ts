/** As many trials of each contender in each scenario has docs/elections.md. */
export const SEEDS = 20;
