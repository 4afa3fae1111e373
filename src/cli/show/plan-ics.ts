import type { EpochMs } from '../../core/brand';
import type { Plan } from '../../operator/plan/plan';

/** Octets of a line of iCalendar, without its end: https://www.rfc-editor.org/rfc/rfc5545#section-3.1 */
const LINE_OCTETS = 75;

/** The starts as an iCalendar file, in UTC, each an event without a length. */
export function calendarText({ starts }: Plan, now: EpochMs): string {
  const stamp = basic(now);
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//cronlease//plan//EN',
    ...starts.flatMap(({ spec, scheduledFor, runsAt, notes }) => [
      'BEGIN:VEVENT',
      `UID:${spec.name}-${basic(scheduledFor)}@cronlease`,
      `DTSTAMP:${stamp}`,
      `DTSTART:${basic(runsAt)}`,
      `SUMMARY:${escaped(spec.name)}`,
      `DESCRIPTION:${escaped([`${spec.schedule} ${spec.timeZone}`, spec.description ?? '', ...notes].filter((part) => part !== '').join('\n'))}`,
      'TRANSP:TRANSPARENT',
      'END:VEVENT',
    ]),
    'END:VCALENDAR',
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join('');
}

/** `20260131T030000Z` */
function basic(instant: EpochMs): string {
  return new Date(instant).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

function escaped(text: string): string {
  const visible = text.replaceAll(/[\\;,]/g, (char) => `\\${char}`).replaceAll(/\r?\n|\r/g, '\\n');
  // A control character has no place in a calendar.
  return visible.replaceAll(/\p{Cc}/gu, ' ');
}

/** Continues a long line on the next ones, which begin with a space. No character is cut in two. */
function folded(line: string): string {
  const parts: string[] = [];
  let part = '';
  let octets = 0;
  for (const char of line) {
    const size = Buffer.byteLength(char);
    if (octets + size > LINE_OCTETS) {
      parts.push(part);
      part = ' ';
      octets = 1;
    }
    part += char;
    octets += size;
  }
  return [...parts, part].join('\r\n');
}
