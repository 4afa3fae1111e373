import type { Planted } from './planted';

/** Rules of a move of all jobs to another store, and of the layouts that deployments obey meanwhile. */
export const MIGRATION_FAULTS: readonly Planted[] = [
  {
    name: 'announced-move-unheeded',
    what: 'deployments begin runs while the layout says that the jobs move',
    mix: 'migrations',
    edits: [
      {
        file: 'core/layout.ts',
        in: 'allowanceOf',
        from: "return followed === own ? { claims: 'begun', reason } : none(reason);",
        to: "return followed === own ? { claims: 'all' } : none(reason);",
      },
    ],
  },
  {
    name: 'left-store-used',
    what: 'deployments claim in a store that all jobs have left',
    mix: 'migrations',
    edits: [
      {
        file: 'core/layout.ts',
        in: 'allowanceOf',
        from: 'if (layout.left) return none(`${here} has left the list of accounts`);',
        to: "if (layout.left) return { claims: 'all' };",
      },
    ],
  },
  {
    name: 'move-unannounced-in-time',
    what: '`migrate` does not wait until every deployment has swept',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/apply.ts',
        in: 'waitForDeployments',
        from: 'if (!(left > 0)) continue;',
        to: 'if (!(left > waitMs)) continue;',
      },
    ],
  },
  {
    name: 'settled-before-all-moved',
    what: '`migrate` settles the layouts although it could not move every job',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/apply.ts',
        in: 'applyShards',
        from: 'if (refused.length > 0) return',
        to: 'if (refused.length > 0) await settle(await surveyAccounts(change), version);\n  if (refused.length > 0) return',
      },
    ],
  },
  {
    name: 'live-before-moved',
    what: 'the copy of a row counts before the original is marked as moved',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/move.ts',
        in: 'moveJob',
        from: 'await renewHeld(from, holding);',
        to: 'await makeLive(to, job);\n    await renewHeld(from, holding);',
      },
    ],
  },
  {
    name: 'moved-without-guard',
    what: '`migrate` continues if its mark on the original is refused',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/move.ts',
        in: 'moveJob',
        from: 'await renewHeld(from, holding);',
        to: '',
      },
      {
        file: 'operator/take-lease.ts',
        in: 'writeMetadata',
        from: "if (answer.kind === 'refused') throw contended(whose);",
        to: "if (answer.kind === 'refused') return void whose;",
      },
    ],
  },
  {
    name: 'moved-token-lost',
    what: 'the tokens of a moved job begin again',
    mix: 'migrations',
    edits: [
      {
        file: 'core/moved-row.ts',
        in: 'arrivingRow',
        from: 'token: String(token), format: ARRIVING',
        to: 'token: String(token - token), format: ARRIVING',
      },
    ],
  },
  {
    name: 'unfinished-run-moved',
    what: 'a job moves while its run is not over',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/move.ts',
        in: 'moveJob',
        from: 'const goesOn = await unfinishedRun(from, job, state);',
        to: 'const goesOn = (await unfinishedRun(from, job, state)) && undefined;',
      },
    ],
  },
  {
    name: 'late-records-left',
    what: 'records that came during the wait of `migrate` are not copied',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/move.ts',
        in: 'copyRecords',
        from: 'await copyHistory({ job, from, to }, history);',
        to: 'void history;',
      },
    ],
  },
  {
    name: 'open-records-copied',
    what: 'the records of runs that are not over are copied ahead of their jobs',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/history.ts',
        in: 'copyRecord',
        from: "(history === 'ended' && isOpen(found.body))",
        to: "(history === 'ended' && isOpen(found.body) && summary === undefined)",
      },
    ],
  },
  {
    name: 'control-left-behind',
    what: 'a moved job leaves its control behind',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/move.ts',
        in: 'moveControl',
        from: "if ((await to.store.writeControl(job, control.metadata, undefined)) === 'refused') {",
        to: 'if (control === undefined) {',
      },
    ],
  },
  {
    name: 'ended-run-unseen',
    what: 'the copy of a row does not show until when a run lasted that `migrate` has ended',
    mix: 'migrations',
    edits: [{ file: 'operator/forget.ts', in: 'endRunOf', from: 'busyUntil: now,', to: 'busyUntil: undefined,' }],
  },
  {
    name: 'moved-owing',
    what: 'the copy of a row is released although it owes notices',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/move.ts',
        in: 'makeLive',
        from: "if (readOwedNotices(metadata['notices']).length === 0) await letGo(to, holding);",
        to: 'await letGo(to, holding);',
      },
    ],
  },
  {
    name: 'owed-notices-left',
    what: 'the copy of a row owes none of the notices that its dead holder has left',
    mix: 'migrations',
    edits: [
      {
        file: 'operator/shards/move.ts',
        in: 'settledRow',
        from: "if (lease === 'available') return",
        to: "if (lease !== 'available') return { ...row, telling: [] };\n  if (lease === 'available') return",
      },
    ],
  },
];
