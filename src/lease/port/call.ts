export interface CallOptions {
  readonly signal?: AbortSignal;
}

export type Metadata = Readonly<Record<string, string>>;
