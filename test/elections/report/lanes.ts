import type { Millis } from '../../../src/core/brand';
import type { Contender } from '../world/world';
import { CONTENDERS } from '../world/contender';
import type { Belief } from '../world/observer';
import { FAULT_AT_MS, MEASURED_MS, type Scenario } from '../world/scenarios';
import { runTrial } from '../world/trial';

/*
 * Who believed when: a lane for each instance, with a bar while it believes that it leads.
 */

export interface Lanes {
  readonly contender: Contender;
  readonly instances: number;
  readonly beliefs: readonly Belief[];
}

const FROM_MS: Millis = FAULT_AT_MS - 10_000;
const UNTIL_MS: Millis = FAULT_AT_MS + MEASURED_MS;

export async function lanesOf(scenario: Scenario, instances: number, seed: number): Promise<Lanes[]> {
  const all: Lanes[] = [];
  for (const contender of CONTENDERS) {
    if (scenario.ofStore === true && !contender.usesStore) continue;
    const { beliefs } = await runTrial({ contender, scenario, instances, seed });
    all.push({ contender, instances, beliefs });
  }
  return all;
}

interface Stretch {
  readonly instance: number;
  readonly from: Millis;
  readonly until: Millis;
}

/** The stretches in which an instance believed, and those of them in which another did too. */
function stretchesOf({ beliefs }: Lanes): { readonly all: readonly Stretch[]; readonly shared: readonly Stretch[] } {
  const all = beliefs.flatMap(({ instance, acts }) => acts.map(({ from, until }) => ({ instance, from, until })));
  const shared = all.flatMap((one) =>
    all.flatMap((other) => {
      const from = Math.max(one.from, other.from);
      const until = Math.min(one.until, other.until);
      return one.instance === other.instance || from >= until ? [] : [{ instance: one.instance, from, until }];
    }),
  );
  return { all, shared };
}

const COLUMNS = 65;
const LABEL = 15;

/** The lanes as text: `#` is the only one that believes; `2` believes while another does too; `.` does not. */
export function lanesText(scenario: Scenario, all: readonly Lanes[]): string {
  const step = (UNTIL_MS - FROM_MS) / COLUMNS;
  const lines = all.flatMap((lanes) => {
    const stretches = stretchesOf(lanes);
    return Array.from({ length: lanes.instances }, (_, index) => {
      const id = index + 1;
      const marks = Array.from({ length: COLUMNS }, (_, column) => {
        const start = FROM_MS + column * step;
        const isIn = ({ instance, from, until }: Stretch): boolean =>
          instance === id && from < start + step && until > start;
        if (stretches.shared.some(isIn)) return '2';
        return stretches.all.some(isIn) ? '#' : '.';
      });
      return `${(index === 0 ? lanes.contender.name : '').padEnd(LABEL - 3)}${String(id)}  ${marks.join('')}`;
    });
  });
  const seconds = `${(step / 1000).toFixed(1)} s`;
  return [
    `Who believed when: ${scenario.name}, one trial`,
    `A mark is ${seconds}: # believes alone, 2 while another does too, . does not believe`,
    ...lines,
  ].join('\n');
}

const WIDTH = 860;
const LEFT = 130;
const RIGHT = 20;
const TOP = 44;
const LANE = 11;
const GAP = 14;
const BOTTOM = 40;
/** All are seen on white and on black. */
const ALONE = '#0969da';
const WITH_ANOTHER = '#d1242f';
const TEXT = '#7d8590';

export function lanesSvg(title: string, all: readonly Lanes[]): string {
  const x = (at: Millis): number => {
    const share = (Math.min(UNTIL_MS, Math.max(FROM_MS, at)) - FROM_MS) / (UNTIL_MS - FROM_MS);
    return Math.round((LEFT + share * (WIDTH - LEFT - RIGHT)) * 10) / 10;
  };
  const heights = all.map(({ instances }) => instances * LANE + GAP);
  const tops = heights.map((_, index) => TOP + heights.slice(0, index).reduce((sum, height) => sum + height, 0));
  const bottom = TOP + heights.reduce((sum, height) => sum + height, 0);
  const seconds = Array.from({ length: 7 }, (_, index) => index * 20);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(WIDTH)} ${String(bottom + BOTTOM)}" ` +
      `font-family="sans-serif" font-size="13" fill="${TEXT}" role="img">`,
    `<title>${title}</title>`,
    `<text x="8" y="20" font-size="15" font-weight="bold">${title}</text>`,
    ...seconds.map((second) => gridLine(x(FAULT_AT_MS + second * 1000), bottom, `${String(second)} s`)),
    ...all.map((lanes, index) => lanesGroup(lanes, tops[index] ?? TOP, x)),
    `<text x="8" y="${String(bottom + BOTTOM - 8)}" font-size="11">a lane for each instance: ` +
      'a bar while it believes that it leads, red while another does too</text>',
    '</svg>',
    '',
  ].join('\n');
}

function gridLine(x: number, bottom: number, label: string): string {
  return (
    `<line x1="${String(x)}" y1="${String(TOP - 8)}" x2="${String(x)}" y2="${String(bottom)}" ` +
    `stroke="${TEXT}" stroke-opacity="0.25"/>` +
    `<text x="${String(x)}" y="${String(bottom + 14)}" font-size="11" text-anchor="middle">${label}</text>`
  );
}

function lanesGroup(lanes: Lanes, top: number, x: (at: Millis) => number): string {
  const rect = ({ from, until, instance }: Stretch, colour: string): string => {
    const width = Math.max(1, x(until) - x(from)).toFixed(1);
    const y = top + (instance - 1) * LANE;
    const place = `x="${String(x(from))}" y="${String(y)}" width="${width}" height="${String(LANE - 3)}"`;
    return `<rect ${place} fill="${colour}"/>`;
  };
  const isShown = ({ from, until }: Stretch): boolean => until > FROM_MS && from < UNTIL_MS;
  const { all, shared } = stretchesOf(lanes);
  const middle = top + (lanes.instances * LANE) / 2 + 3;
  return [
    `<text x="${String(LEFT - 12)}" y="${String(middle)}" text-anchor="end">${lanes.contender.name}</text>`,
    ...all.filter(isShown).map((one) => rect(one, ALONE)),
    ...shared.filter(isShown).map((one) => rect(one, WITH_ANOTHER)),
  ].join('');
}
