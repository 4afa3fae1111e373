import { hasScheme, type Members, membersOf, type UrlForm } from '../http/url';

/** The cluster that `CRONLEASE_STORAGE` names. */
export type EtcdCluster = Members;

const FORM: UrlForm = {
  store: 'etcd',
  scheme: 'etcd',
  port: 2379,
  example: 'etcds://USER:PASSWORD@HOST:2379,HOST2:2379/PREFIX',
};

/** Whether a connection string is a URL of etcd. */
export function isEtcd(text: string): boolean {
  return hasScheme(FORM, text);
}

/** @throws StorageSettingsError */
export function clusterOf(text: string): EtcdCluster {
  return membersOf(FORM, text);
}
