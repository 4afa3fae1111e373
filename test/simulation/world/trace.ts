/** What happened, in order, as a person can read it. Kept only where somebody is going to read it. */
export interface Trace {
  add(who: string, what: string): void;
  /** The last lines, of one job and of everybody where `about` names one. */
  lines(last: number, about?: string): string[];
}

export function createTrace(now: () => number): Trace {
  const entries: { readonly at: number; readonly who: string; readonly what: string }[] = [];
  return {
    add(who, what) {
      entries.push({ at: now(), who, what });
    },
    lines(last, about) {
      const chosen =
        about === undefined ? entries : entries.filter(({ what }) => what.includes(about) || !/\bj\d\b/.test(what));
      return chosen
        .slice(-last)
        .map(({ at, who, what }) => `${(at / 1000).toFixed(3).padStart(9)}  ${who.padEnd(8)} ${what}`);
    },
  };
}
