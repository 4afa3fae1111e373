import { azuriteBackend } from './azurite';
import { type Backend, type BackendName, type BackendOptions, NO_BACKEND } from './backend';

type Start = (options: BackendOptions) => Promise<Backend>;

export const backends: Readonly<Record<BackendName, Start>> = {
  none: () => Promise.resolve(NO_BACKEND),
  azurite: azuriteBackend,
  redis: () => Promise.resolve(NO_BACKEND),
  etcd: () => Promise.resolve(NO_BACKEND),
  postgres: () => Promise.resolve(NO_BACKEND),
};
