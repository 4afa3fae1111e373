/** The cluster cannot start, or cannot go on. The message says why and what to do. */
export class ClusterError extends Error {
  readonly code = 'Cluster';
  override readonly name = 'ClusterError';
}
