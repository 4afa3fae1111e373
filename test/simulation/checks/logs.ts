import { linesOf } from '../../../src/core/log-entry';
import { parseRecord } from '../../../src/core/record';
import { type TokenedEntry, readLog } from '../../../src/operator/views/read-log';
import { FIRST_STORE, isFinal, keyText } from '../world/facts';
import type { World } from '../world/world';

/**
 * Checks the logs of all runs that are over. Whatever calls were lost, repeated or late, each speaker's lines are there
 * once and in order, from the first one on, and a gap stands for every line that is missing before the last one.
 */
export async function checkLogs({ observer, serviceAt, failovers }: World): Promise<void> {
  // After a failover, a log may be older than the record of its run.
  if (failovers > 0) return;
  const first = serviceAt(FIRST_STORE).open();
  for (const facts of observer.jobs.values()) {
    for (const key of facts.records.keys()) {
      if (!isFinal(facts, key) || facts.records.get(key)?.isDeleted === true) continue;
      // The log of a run stays where the run was. One that gave way to others may have gone on in the next store.
      const inFirst = await first.readRecord(facts.name, key);
      const endedInFirst = inFirst !== undefined && parseRecord(facts.name, key, inFirst.body).state === 'final';
      const store = endedInFirst ? first : serviceAt(facts.home).open();
      const { entries, ended } = await readLog(store, facts.name, key, { bytes: Infinity });
      if (!ended) observer.report('logNotEnded', facts.name, `the log of run ${keyText(key)} does not end`);
      for (const [speaker, numbers] of linesBySpeaker(entries)) {
        if (numbers.every((number, index) => number === index + 1)) continue;
        const what = `speaker ${speaker} of run ${keyText(key)} has the lines ${numbers.join(' ')}`;
        observer.report('logBroken', facts.name, what);
      }
    }
  }
}

/** The numbers of the lines, in the order in which they are read, with those of gaps. */
function linesBySpeaker(entries: readonly TokenedEntry[]): Map<string, number[]> {
  const speakers = new Map<string, number[]>();
  for (const entry of entries) {
    // Two calls of one item may be under way at once.
    if (entry.item !== undefined || 'error' in entry) continue;
    const numbers = speakers.get(String(entry.token)) ?? [];
    speakers.set(String(entry.token), numbers);
    for (let more = 0; more < linesOf(entry); more += 1) numbers.push(entry.n + more);
  }
  return speakers;
}
