import windows from 'cldr-core/supplemental/windowsZones.json';
import { format } from 'prettier';
import { describe, expect, it } from 'vitest';
import { windowsZone } from '../../src/config/windows-zones';
import { zoneOf } from '../../src/core/schedule/zone';

/** By CLDR, the zone of each name for the world as a whole. */
const ZONES = windows.supplemental.windowsZones.mapTimezones
  .filter(({ mapZone: { _territory: territory } }) => territory === '001')
  .map(({ mapZone: { _other: name, _type: zone } }) => [name, zone] as const);

describe('names of time zones on Windows', () => {
  // `npx vitest run -u test/unit/windows-zones.test.ts` writes the file.
  it('are those of CLDR', async () => {
    const lines = ZONES.map(([name, zone]) => `  ${JSON.stringify(name)}: '${zone}',`);
    const text = `// Written by test/unit/windows-zones.test.ts from the table of CLDR.
const ZONES: Readonly<Record<string, string>> = {\n${lines.join('\n')}\n};

const BY_NAME = new Map(Object.entries(ZONES).map(([name, zone]) => [name.toLowerCase(), zone]));

/** The IANA zone of a name that Windows uses; undefined: there is none. */
export function windowsZone(name: string): string | undefined {
  return BY_NAME.get(name.trim().toLowerCase());
}
`;
    const pretty = await format(text, { parser: 'typescript', printWidth: 120, singleQuote: true });
    await expect(pretty).toMatchFileSnapshot('../../src/config/windows-zones.ts');
  });

  it('have zones that schedules can use', () => {
    expect(ZONES.length).toBeGreaterThan(130);
    for (const [name, zone] of ZONES) {
      expect(windowsZone(name)).toBe(zone);
      expect(() => zoneOf(zone)).not.toThrow();
    }
    expect(windowsZone('w. europe standard time')).toBe('Europe/Berlin');
    expect(windowsZone('Europe/Berlin')).toBeUndefined();
  });
});
