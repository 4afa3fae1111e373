import { ACTIVITIES_A_BATCH, CLAIMS_AN_ACTIVITY } from '../../core/batch';
import type { Millis } from '../../core/brand';
import type { Coordinator } from '../coordinator';
import type { Hub } from '../hub';
import type { HandedOver, Together } from '../message';

/** Durable moves an input of more than 60 KB, at two bytes a character, to a blob. JSON in JSON has backslashes. */
const TEXT_AT_MOST = 24_000;
/** An acquired claim waits at most this long for those that are being acquired. */
const GATHER_MS: Millis = 200;

interface Waiting {
  readonly hub: Pick<Hub, 'start'>;
  readonly orchestration: string;
  readonly input: HandedOver;
  readonly started: PromiseWithResolvers<void>;
}

/** Hands over together what is acquired together. One for each process. */
export function createBatches({ clock, newId, concurrencyLimit }: Coordinator) {
  // Claims that would only wait for each other's permits are better off on several instances.
  const each = Math.min(CLAIMS_AN_ACTIVITY, concurrencyLimit?.limit ?? CLAIMS_AN_ACTIVITY);
  let acquiring = 0;
  let waiting: readonly Waiting[] = [];
  let text = 0;
  let cancel = (): void => undefined;

  const send = (): void => {
    cancel();
    const members = waiting;
    waiting = [];
    text = 0;
    startAll(members, each, newId).then(
      () => members.forEach(({ started }) => started.resolve()),
      (error: unknown) => members.forEach(({ started }) => started.reject(error)),
    );
  };
  const add = (member: Waiting): void => {
    const length = JSON.stringify(member.input).length;
    if (waiting.length > 0 && text + length > TEXT_AT_MOST) send();
    if (waiting.length === 0) cancel = clock.after(GATHER_MS, send);
    waiting = [...waiting, member];
    text += length;
    if (waiting.length === each * ACTIVITIES_A_BATCH) send();
  };

  return {
    /** A claim is about to be acquired: those that have been acquired wait for it. */
    join() {
      acquiring += 1;
      let isIn = true;
      /** The others wait for this one no longer. May be called again, without effect. */
      const leave = (): void => {
        if (!isIn) return;
        isIn = false;
        acquiring -= 1;
        if (acquiring === 0 && waiting.length > 0) send();
      };
      return {
        leave,
        /**
         * Starts the orchestration of the claim: its own if no other is being acquired, or one with others.
         *
         * @param orchestration the id of the claim's separate orchestration
         */
        start(hub: Pick<Hub, 'start'>, orchestration: string, input: HandedOver): Promise<void> {
          const started = Promise.withResolvers<void>();
          add({ hub, orchestration, input, started });
          leave();
          return started.promise;
        },
      };
    },
  };
}

async function startAll(members: readonly Waiting[], each: number, newId: () => string): Promise<void> {
  const [first, ...others] = members;
  if (first === undefined) return;
  const { hub, orchestration, input } = first;
  if (others.length === 0) await hub.start(orchestration, input);
  else await hub.start(`cronlease-batch-${newId()}`, { kind: 'batch', activities: dealt(members, each) });
}

/** The claims in as few activities as may be, about as many in each, and the most important ones in the first. */
function dealt(members: readonly Waiting[], each: number): readonly Together[] {
  const count = Math.ceil(members.length / each);
  const first = (activity: number): number => Math.ceil((activity * members.length) / count);
  return Array.from({ length: count }, (_, activity) => ({
    kind: 'together',
    claims: members.slice(first(activity), first(activity + 1)).map(({ input }) => input),
  }));
}
