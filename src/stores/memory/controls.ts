import type { ControlStore } from '../../lease/store';
import { dateOf, heed, type State, store } from './state';

export function controlsOf(state: State): ControlStore {
  const { clock, controls } = state;
  return {
    async readControl(job, options) {
      heed(options);
      return { control: controls.get(job), date: dateOf(clock) };
    },
    async writeControl(job, metadata, ifMatch, options) {
      heed(options);
      const stored = store(state, metadata);
      if (controls.get(job)?.etag !== ifMatch) return 'refused';
      controls.set(job, stored);
      return 'written';
    },
    async removeControl(job, ifMatch, options) {
      heed(options);
      if (controls.get(job)?.etag !== ifMatch) return 'refused';
      controls.delete(job);
      return 'removed';
    },
  };
}
