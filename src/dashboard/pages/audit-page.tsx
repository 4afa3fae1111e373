import { useEffect, useState } from 'preact/hooks';
import type { AuditQuery } from '../../client';
import { pathOf } from '../../client/operations';
import type { Audit } from '../../client/types';
import { hasParam, hoursBefore, pageOf, param } from '../data/address';
import { now } from '../data/live';
import { useLive } from '../data/use-live';
import type { Label } from '../data/words';
import { NotYet } from '../parts/help';
import { Badge, Exact, Link, Notice, OlderPages, SearchBox, Select, Table, Warnings } from '../parts/parts';
import { CHANNELS, HOURS } from '../parts/run-filters';

type Entry = Audit['entries'][number];

/** A search is made once there was no typing for so long: it may list 1,000 changes. */
const TYPED_MS = 300;

const ACTIONS: Readonly<Record<NonNullable<AuditQuery['action']>, string>> = {
  run: 'Runs',
  rerun: 'Runs again',
  backfill: 'Back-fills',
  cancel: 'Cancellations',
  pause: 'Pauses',
  resume: 'Ends of pauses',
  maintenance: 'Ends of maintenance',
  ack: 'Acknowledgements',
  unack: 'Acknowledgements taken back',
  cordon: 'Cordons',
  uncordon: 'Cordons lifted',
  unlock: 'Leases broken',
  forget: 'Jobs forgotten',
  recover: 'Repairs after a failover',
  shards: 'Shards',
};

/** Changes whose target is not a job. */
const OF_SEVERAL: ReadonlySet<string> = new Set(['maintenance', 'recover', 'shards']);

const LABELS: Readonly<Record<Entry['state'], Label>> = {
  done: { word: 'Done', icon: 'check', tone: 'good' },
  refused: { word: 'Refused', icon: 'slash', tone: 'off' },
  begun: { word: 'Begun', icon: 'alert', tone: 'warn' },
};

const COLUMNS = [['When', undefined, 150], ['Who', undefined, 240], ['What'], ['Why']] as const;

export function AuditPage() {
  const [openedAt] = useState(() => now.peek());
  const path = pathOf('listAudit', [], {
    limit: 50,
    q: useSettled(param('q')),
    action: param('action'),
    channel: param('channel'),
    since: hoursBefore(openedAt),
    cursor: param('cursor'),
  });
  const { body, failure } = useLive<Audit>(path);
  return (
    <>
      <div class="title">
        <h1>Changes</h1>
        <div class="narrow">
          <SearchBox of="changes" />
        </div>
      </div>
      <div class="line filters">
        <Select name="hours" label="When the changes were made" options={HOURS} />
        <Select name="action" label="What was changed" options={[['', 'All changes'], ...Object.entries(ACTIONS)]} />
        <Select name="channel" label="From where it was changed" options={CHANNELS} />
      </div>
      {body === undefined ? <NotYet failure={failure} what="changes" rows={10} /> : <Loaded audit={body} />}
    </>
  );
}

/** The text, once it has not changed for a moment. */
function useSettled(text: string | undefined): string | undefined {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function Loaded({ audit: { entries, problems, cursor } }: { readonly audit: Audit }) {
  return (
    <>
      <Warnings texts={problems} />
      {entries.length === 0 ? (
        <Notice title={titleOfNone(cursor === null)}>
          <p>Whatever a person or a key changes is recorded here: who, when, from where, and why.</p>
        </Notice>
      ) : (
        <Table name="Changes" kind="slim changes" columns={COLUMNS}>
          {entries.map((entry) => (
            <Row key={entry.id} entry={entry} />
          ))}
        </Table>
      )}
      <OlderPages cursor={cursor} of="changes" />
    </>
  );
}

/** @param isWhole whether all changes have been searched */
function titleOfNone(isWhole: boolean): string {
  if (hasParam('q', 'action', 'channel', 'hours')) return `No change matches${isWhole ? '' : ' so far'}`;
  return hasParam('cursor') ? 'There are no older changes' : 'No changes yet';
}

function Row({ entry }: { readonly entry: Entry }) {
  const { at, actor, identity, proven, channel, note, action, target, state, before, after } = entry;
  const isOfJob = !action.includes('cordon') && !OF_SEVERAL.has(action);
  return (
    <tr role="row">
      <td role="cell">
        <Exact at={at} zone={null} />
        <span class="second">
          <Badge label={LABELS[state]} />
        </span>
      </td>
      <td role="cell" class="foreign">
        {actor}
        <span class="second">
          by {channel}
          {!proven && ', unproven'}
        </span>
        {identity !== null && <span class="second">{identity}</span>}
      </td>
      <td role="cell" class="foreign">
        {action} {isOfJob ? <Link href={pageOf({ job: target })}>{target}</Link> : target}
        {(before !== undefined || after !== undefined) && (
          <details>
            <summary>before and after</summary>
            <pre>{JSON.stringify({ before, after }, undefined, 2)}</pre>
          </details>
        )}
      </td>
      <td role="cell" class="foreign">
        {note}
      </td>
    </tr>
  );
}
