import { expect, it } from 'vitest';
import { dayOf, firstDayOf, monthOf, weekdayOf } from '../../src/core/schedule/calendar';

it('the calendar agrees with Date on every day from 1600 to 2401', () => {
  for (let day = Date.UTC(1600, 0, 1) / 86_400_000; day < Date.UTC(2401, 0, 1) / 86_400_000; day += 1) {
    const date = new Date(day * 86_400_000);
    const [year, month, dayOfMonth] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
    const agrees =
      monthOf(day) === year * 12 + month &&
      firstDayOf(year * 12 + month) === day - dayOfMonth + 1 &&
      weekdayOf(day) === date.getUTCDay() &&
      dayOf(year, month + 1, dayOfMonth) === day;
    if (!agrees) expect.fail(date.toISOString());
  }
});

it.each([
  [2026, 2, 29],
  [2100, 2, 29],
  [2026, 4, 31],
  [2026, 13, 1],
  [2026, 0, 1],
  [2026, 1, 0],
])('there is no %i-%i-%i', (year, month, day) => {
  expect(dayOf(year, month, day)).toBeUndefined();
});
