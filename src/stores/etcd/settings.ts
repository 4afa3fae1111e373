import { hasScheme, type Members, membersOf, type UrlForm } from '../http/url';

export type EtcdCluster = Members;

const FORM: UrlForm = {
  store: 'etcd',
  scheme: 'etcd',
  port: 2379,
  example: 'etcds://USER:PASSWORD@HOST:2379,HOST2:2379/PREFIX',
};

export function isEtcd(text: string): boolean {
  return hasScheme(FORM, text);
}

/** @throws StorageSettingsError */
export function clusterOf(text: string): EtcdCluster {
  return membersOf(FORM, text);
}
