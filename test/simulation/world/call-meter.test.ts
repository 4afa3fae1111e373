import { describe, expect, it } from 'vitest';
import { callMeter } from './call-meter';

/** A meter for one job, and the minutes in which it was hot. */
function metered() {
  const hot: number[] = [];
  let now = 0;
  const meter = callMeter(
    () => now,
    1,
    () => hot.push(Math.floor(now / 60_000)),
  );
  const call = (times: number): void => {
    for (let made = 0; made < times; made += 1) meter.called();
  };
  const wait = (ms: number): void => {
    now += ms;
  };
  return { meter, call, wait, hot };
}

describe('the meter of storage calls', () => {
  it('finds a process that makes more calls in a minute than its jobs explain, once a minute', () => {
    const { call, wait, hot } = metered();
    call(2_399);
    wait(60_000);
    call(2_399);
    expect(hot).toEqual([]);
    call(1_000);
    wait(60_000);
    call(2_400);
    expect(hot).toEqual([1, 2]);
  });

  it('allows calls for each attempt and item that begins in that minute', () => {
    const { meter, call, wait, hot } = metered();
    meter.attempt('j0-run 1');
    meter.item('j0-run item 0 1');
    call(2_400 + 31);
    expect(hot).toEqual([]);
    call(1);
    expect(hot).toEqual([0]);
    wait(60_000);
    call(2_400);
    expect(hot).toEqual([0, 1]);
  });

  it('allows nothing for work that begins again and again', () => {
    const { meter, call, hot } = metered();
    for (let times = 0; times < 100; times += 1) {
      meter.item('j0-run item 0 1');
      call(30);
    }
    expect(hot).toEqual([0]);
  });
});
