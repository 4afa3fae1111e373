/** The cluster cannot start or continue. The message gives the reason and the remedy. */
export class ClusterError extends Error {
  readonly code = 'Cluster';
  override readonly name = 'ClusterError';
}
