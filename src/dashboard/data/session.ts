import { computed, signal } from '@preact/signals';
import { pathOf } from '../../client/operations';
import { type Failure, failureIn, read } from './api';
import type { Me, Version } from '../../client/types';

export const session = signal<{ readonly me: Me; readonly version: Version } | undefined>(undefined);
export const sessionFailure = signal<Failure | undefined>(undefined);

/** Who may not act sees no action. The app checks every change again. */
export const mayAct = computed(() => {
  const { me } = session.value ?? {};
  return me !== undefined && me.role !== 'viewer' && !me.readOnly;
});

/** Whose jobs these are: it stands in the header, the title and every confirmation. */
export const environment = computed(() => session.value?.version.environment ?? undefined);

/** Its colour, for style.css. */
export const environmentStyle = computed(() =>
  environment.value === undefined ? {} : { '--environment': `var(--${environment.value.color})` },
);

/** Whether the first question for the caller has been answered. */
export const isSettled = computed(() => session.value !== undefined || sessionFailure.value !== undefined);

let loading = false;

/**
 * Asks who the caller is, once. Until that succeeds, no action is shown.
 *
 * @param again whether the login had ended: it may be another person's now
 */
export async function loadSession(again = false): Promise<void> {
  if (loading || (session.peek() !== undefined && !again)) return;
  loading = true;
  try {
    const [me, version] = await Promise.all([read(pathOf('getMe')), read(pathOf('getVersion'))]);
    session.value = { me: me.body as Me, version: version.body as Version };
    sessionFailure.value = undefined;
  } catch (error) {
    sessionFailure.value = failureIn(error);
  } finally {
    loading = false;
  }
}
