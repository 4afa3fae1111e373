import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { minifySync } from 'rolldown/utils';

/** Options of esbuild for a bundle that {@link writeMinified} writes. */
export const toMinify = { bundle: true, minifySyntax: true, write: false, legalComments: 'external' };

/** esbuild writes each module's path before it. */
const MODULE = /^\/\/ (\S+\.[cm]?[jt]sx?)$/m;
/** Names of one or two letters would stand in the way of the shortened ones. */
const FUNCTION = /\bfunction\*? (\w{3,})|[\w,] (\w{3,}) = (?:async )?(?:\(|\w+ =>)/g;

/**
 * Shortens what esbuild has bundled, and writes it with its map if it has one. Classes keep their names, and so do the
 * functions of all modules that are not packages, for stack traces and logs. esbuild's own `keepNames` would name each
 * function again whenever it is created, which took a fifth of the app's start and a tenth of a run's CPU.
 * Decision 123.
 */
export function writeMinified({ outputFiles }) {
  const texts = new Map(outputFiles.map((file) => [file.path, file.text]));
  for (const [file, text] of texts) {
    if (!file.endsWith('.js')) continue;
    const bundled = texts.get(`${file}.map`);
    const { code, map, errors } = minifySync(path.basename(file), text, {
      module: false,
      compress: false,
      mangle: { toplevel: true, keepNames: { class: true, function: false }, reserved: ownFunctions(text) },
      ...(bundled !== undefined && { sourcemap: true, inputMap: JSON.parse(bundled) }),
    });
    if (errors.length > 0) throw new Error(`${file} cannot be shortened: ${errors[0].message}`);
    mkdirSync(path.dirname(file), { recursive: true });
    const parts = [code];
    const licenses = texts.get(`${file}.LEGAL.txt`) ?? '';
    if (licenses !== '') parts.push(`/*!\n${licenses.replaceAll('/*', '(*').replaceAll('*/', '*)')}*/`);
    if (map !== undefined) {
      parts.push(`//# sourceMappingURL=${path.basename(file)}.map`);
      writeFileSync(`${file}.map`, JSON.stringify(map));
    }
    writeFileSync(file, `${parts.join('\n')}\n`);
  }
}

function ownFunctions(bundle) {
  const [, ...parts] = bundle.split(MODULE);
  const own = parts.filter((_, index) => index % 2 === 1 && !parts[index - 1].includes('node_modules/'));
  return [...new Set(own.flatMap((code) => [...code.matchAll(FUNCTION)].map((match) => match[1] ?? match[2])))];
}
