import { DAY_SECONDS } from '../core/schedule/calendar';
import type { Yearly, Window } from '../core/schedule/window';
import type { Moment } from '../core/schedule/moment';

/** An entry with what it is, for people. */
export type Named<Entry> = Entry & { readonly name?: string | undefined };

export function windowText({ from, to, name }: Named<Window>): string {
  const isDay = from?.kind === 'date' && to?.kind === 'date' && to.wall - from.wall === DAY_SECONDS;
  if (isDay) return named(momentText(from), name);
  const parts = [...(from ? [`from ${momentText(from)}`] : []), ...(to ? [`up to ${momentText(to)}`] : [])];
  return named(parts.join(' '), name);
}

export function yearlyText({ month, day, days, name }: Named<Yearly>): string {
  const date = [month, day].map((part) => String(part).padStart(2, '0')).join('-');
  return named(days === 1 ? `${date} of each year` : `${days} days from ${date} of each year`, name);
}

function named(text: string, name: string | undefined): string {
  return name === undefined ? text : `${name} (${text})`;
}

function momentText(moment: Moment): string {
  if (moment.kind === 'instant') return new Date(moment.at).toISOString();
  const text = new Date(moment.wall * 1000).toISOString();
  return moment.kind === 'date' ? text.slice(0, 10) : text.slice(0, 19);
}
