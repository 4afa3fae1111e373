/** The events in order, in readable form. Kept only if a person will read them. */
export interface Trace {
  add(who: string, what: string): void;
  /** The last lines; with `about`, those of one job and those of no job. */
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
