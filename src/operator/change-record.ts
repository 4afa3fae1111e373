import type { ETag, JobName } from '../core/brand';
import { sameMetadata } from '../core/metadata';
import {
  type ControlStore,
  type LeaseStore,
  type Metadata,
  StoreLimitError,
  StoreUnavailableError,
} from '../lease/store';
import { OperatorError } from './operator-error';

/** If so many writers in a row were faster, something is wrong. */
const ATTEMPTS = 10;

/** A record of operators' commands: of one job, or of the fleet. */
export interface CommandRecord<State extends { readonly controlEtag: ETag | undefined }> {
  readonly name: JobName;
  /** For messages: `the control record of job "nightly"`. */
  readonly title: string;
  /** For messages, if it is full: what it holds, and what to do. */
  readonly full: { readonly holds: string; readonly remedy: string };
  read(): Promise<State>;
  /** Called once a record that did not exist has been written. Throws if it had no business there. */
  readonly created?: (metadata: Metadata) => Promise<void>;
}

/**
 * Reads a record, changes it and writes it back. If another writer wrote meanwhile, it starts again.
 *
 * @param change returns the record to write; undefined: nothing is written. May be called more than once
 * @throws OperatorError `ControlFull`, `Contended`; the error of `change`
 */
export async function changeRecord<State extends { readonly controlEtag: ETag | undefined }, Result>(
  store: Pick<LeaseStore, keyof ControlStore | 'limits'>,
  record: CommandRecord<State>,
  change: (state: State) => Promise<{ readonly metadata: Metadata | undefined; readonly result: Result }>,
): Promise<Result> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const state = await record.read();
    const { metadata, result } = await change(state);
    if (metadata === undefined) return result;
    if (await write(store, record, { metadata, etag: state.controlEtag })) {
      if (state.controlEtag === undefined) await record.created?.(metadata);
      return result;
    }
  }
  throw new OperatorError('Contended', `${record.title} keeps changing, because others write it: try again`);
}

/**
 * Returns whether the record was written. A call whose answer was lost counts, and so does one that the network
 * repeated.
 */
async function write(
  store: Pick<LeaseStore, keyof ControlStore | 'limits'>,
  { name, title, full }: Pick<CommandRecord<never>, 'name' | 'title' | 'full'>,
  { metadata, etag }: { readonly metadata: Metadata; readonly etag: ETag | undefined },
): Promise<boolean> {
  const isWritten = async (): Promise<boolean> => {
    const { control } = await store.readControl(name);
    return control !== undefined && sameMetadata(control.metadata, metadata);
  };
  try {
    return (await store.writeControl(name, metadata, etag)) === 'written' || (await isWritten());
  } catch (error) {
    if (error instanceof StoreLimitError) {
      const room = `${String(Math.floor(store.limits.metadataBytes / 1024))} KB of ${full.holds}`;
      throw new OperatorError('ControlFull', `${title} is full: it holds ${room}. ${full.remedy}`, { cause: error });
    }
    if (!(error instanceof StoreUnavailableError)) throw error;
    if (await isWritten()) return true;
    throw error;
  }
}
