import type { ElectionStore, LeaseStore } from './store';

type Fact = 'location' | 'limits' | 'home' | 'accounts' | 'purgesDaily';
type Method = Exclude<keyof LeaseStore, Fact>;

/** The methods of the port, and whether the first argument of each is a job, in whose account it is called. */
const METHODS: Readonly<Record<Method, 'job' | 'other'>> = {
  prepare: 'other',
  list: 'other',
  createRow: 'job',
  readRow: 'job',
  acquire: 'job',
  renew: 'job',
  writeRow: 'job',
  release: 'job',
  breakLease: 'job',
  readControl: 'job',
  writeControl: 'job',
  removeControl: 'job',
  createRecord: 'job',
  replaceRecord: 'job',
  readRecord: 'job',
  listRecords: 'job',
  createLog: 'job',
  appendLog: 'job',
  readLog: 'job',
  listLogs: 'job',
  createPiece: 'job',
  readPiece: 'job',
  touchPiece: 'job',
  listPieces: 'job',
  deletePiece: 'job',
  createRequest: 'other',
  readRequest: 'other',
  writePresence: 'other',
  listPresences: 'other',
  createNotice: 'other',
  readNotice: 'other',
  writeNotice: 'other',
  deleteNotice: 'other',
  listNotices: 'other',
  writeAudit: 'other',
  listAudits: 'other',
  readGroup: 'other',
  writeGroup: 'other',
  purge: 'other',
};

export const STORE_METHODS = Object.keys(METHODS) as readonly Method[];

export const JOB_METHODS = STORE_METHODS.filter((name) => METHODS[name] === 'job');

const ELECTIONS: Readonly<Record<Exclude<keyof ElectionStore, Fact>, true>> = {
  prepare: true,
  createRow: true,
  readRow: true,
  acquire: true,
  renew: true,
  writeRow: true,
  release: true,
  listRows: true,
};

export const ELECTION_METHODS = Object.keys(ELECTIONS) as readonly (keyof typeof ELECTIONS)[];
