/** The colours that an environment can have: each has white text on it. */
export const ENVIRONMENT_COLORS = ['red', 'orange', 'green', 'blue', 'purple', 'gray'] as const;

/** The environment of an app, for people: what they look at must be what they think they look at. */
export interface ShownEnvironment {
  readonly name: string;
  readonly color: (typeof ENVIRONMENT_COLORS)[number];
}
