export const FORMATS = ['cloudevents', 'slack', 'teams', 'pagerduty'] as const;
export type Format = (typeof FORMATS)[number];

/** A receiver of notices, from the app settings. Address, secrets and key are secret. */
export interface Receiver {
  readonly name: string;
  readonly format: Format;
  readonly address: URL;
  /** Keys for the signature, two during a rotation. Never empty for `cloudevents`. */
  readonly secrets: readonly Uint8Array[];
  /** Only for `pagerduty`. */
  readonly routingKey: string | undefined;
}

/** The place that notices come from, as they show it. */
export interface Origin {
  /** Which storage coordinates the jobs, without secrets: the same for all deployments. */
  readonly source: string;
  readonly deployment: string;
  readonly environment: string | undefined;
  /** The address of the app for people. Undefined: notices have no links. */
  readonly publicAddress: URL | undefined;
}
