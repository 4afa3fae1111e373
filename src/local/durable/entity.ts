/** One operation that an entity is asked for. */
export interface EntityRequest {
  /** The same each time that the request is sent. */
  readonly id: string;
  readonly operation: string;
  /** JSON; undefined: none. */
  readonly input: string | undefined;
  /** The orchestration that waits for the answer; undefined: it is a signal. */
  readonly from?: { readonly instance: string; readonly task: number };
}

/** The answer to a request, in the extension's own form. */
export interface EntityResponse {
  /** JSON. */
  readonly result?: string;
  readonly exceptionType?: string;
}

/** An entity. It carries out its requests one after another. */
export interface Entity {
  /** Such as `@counter@a`. */
  readonly id: string;
  exists: boolean;
  /** JSON. */
  state: string | undefined;
  queue: EntityRequest[];
  /** By the ids of their requests, oldest first. */
  answers: (readonly [string, EntityResponse])[];
}

/** The id of an entity's scheduler, as `durable-functions` writes it. */
export function schedulerId({ name, key }: { readonly name: string; readonly key: string }): string {
  return `@${name.toLowerCase()}@${key}`;
}

export function parseId(id: string): { readonly name: string; readonly key: string } {
  const at = id.indexOf('@', 1);
  return { name: id.slice(1, at), key: id.slice(at + 1) };
}
