import { startWebhooks, type Hook, type HookAnswer } from '../support/webhooks';

/** A notice that has come to the receiver. */
export interface Told {
  readonly id: string;
  /** The deployment that sent it. */
  readonly from: string;
  readonly at: number;
  /** `lost`: the receiver has it, and the sender got no answer. */
  readonly how: 'accepted' | 'refused' | 'lost';
}

/** A notice whose sender waits for its answer. */
export interface HeldNotice {
  readonly deployment: string;
  /** The sender never gets an answer. */
  drop(): void;
}

/** A real receiver of notices, which delays, refuses and loses some. */
export interface Receiver {
  readonly port: number;
  readonly told: readonly Told[];
  /** Holds the next notice that has not come before. */
  hold(): Promise<HeldNotice>;
  close(): void;
}

/** A CloudEvent, as far as it is used here. */
interface Message {
  readonly data: {
    readonly deployment: string;
    /** Of a digest. */
    readonly notices?: readonly { readonly id: string }[];
  };
}

const DELAY_MS = 3_000;
const REFUSED = 503;
/** What becomes of a notice that comes for the first time, in turns. When it comes again, it is accepted. */
const TURNS = ['accepted', 'refused', 'lost', 'delayed'] as const;

export async function startReceiver(): Promise<Receiver> {
  const told: Told[] = [];
  const seen = new Set<string>();
  const waiting: ((held: HeldNotice) => void)[] = [];
  const answer = async ({ headers, body, at }: Hook): Promise<HookAnswer> => {
    const id = String(headers['webhook-id']);
    const { data } = JSON.parse(body) as Message;
    const from = data.deployment;
    const noted = (how: Told['how']): void => {
      for (const one of data.notices ?? [{ id }]) told.push({ id: one.id, from, at, how });
    };
    // A digest repeats notices that may have come before, so it is always accepted.
    const isNew = data.notices === undefined && !seen.has(id);
    const how = isNew ? (TURNS[seen.size % TURNS.length] ?? 'accepted') : 'accepted';
    if (isNew) seen.add(id);
    const take = isNew ? waiting.shift() : undefined;
    if (take !== undefined) {
      noted('lost');
      await new Promise<void>((resolve) => take({ deployment: from, drop: resolve }));
      return 'lost';
    }
    if (how === 'refused') {
      noted('refused');
      return REFUSED;
    }
    if (how === 'lost') {
      noted('lost');
      return 'lost';
    }
    noted('accepted');
    if (how === 'delayed') await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    return 204;
  };
  const { port, close } = await startWebhooks(answer);
  return { port, told, close, hold: () => new Promise((resolve) => void waiting.push(resolve)) };
}
