import { hasScheme, invalidUrl, type Members, membersOf, type UrlForm } from '../http/url';

export interface ConsulCluster extends Omit<Members, 'user' | 'password'> {
  /** Of the ACL; undefined: the agents' default one. */
  readonly token: string | undefined;
}

const FORM: UrlForm = {
  store: 'Consul',
  scheme: 'consul',
  port: 8500,
  example: 'consuls://:TOKEN@HOST:8501,HOST2:8501/PREFIX',
};

export function isConsul(text: string): boolean {
  return hasScheme(FORM, text);
}

/** @throws StorageSettingsError */
export function agentsOf(text: string): ConsulCluster {
  const { user, password: token, ...members } = membersOf(FORM, text);
  if (user !== undefined) throw invalidUrl(FORM, 'it names a user: give the token of the ACL as :TOKEN@');
  return { ...members, token };
}
