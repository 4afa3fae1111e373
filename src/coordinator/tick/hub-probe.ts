import type { Millis } from '../../core/brand';
import type { Coordinator, Hub } from '../coordinator';
import { withinHub } from '../hub';

/** A message of a probe may be lost permanently. The next probe then shows whether the hub works. */
const PROBE_AGAIN_MS: Millis = 30_000;

/** No-op orchestrations, which prove that a task hub carries out what it accepts. */
export interface HubProbe {
  /**
   * Asks the hub once whether the probe has come through. Without one on its way, sends one.
   *
   * @returns how long the probe took; undefined: there is no proof yet
   */
  ask(hub: Hub): Promise<Millis | undefined>;
  /** What has been sent proves nothing any longer. */
  forget(): void;
}

export function hubProbe({ clock, newId }: Pick<Coordinator, 'clock' | 'newId'>): HubProbe {
  let probe: { readonly id: string; readonly sentAt: Millis } | undefined;
  return {
    async ask(hub) {
      if (probe === undefined) {
        const id = `cronlease-probe-${newId()}`;
        await withinHub(clock, () => hub.start(id, { kind: 'probe' }));
        probe = { id, sentAt: clock.monotonic() };
      }
      const asked = probe;
      const status = await withinHub(clock, () => hub.status(asked.id));
      const tookMs = clock.monotonic() - asked.sentAt;
      // A doubt that was raised during the call needs its own probe.
      if (probe !== asked) return undefined;
      if (status !== 'pending' || tookMs > PROBE_AGAIN_MS) probe = undefined;
      return status === 'completed' ? tookMs : undefined;
    },
    forget() {
      probe = undefined;
    },
  };
}
