// Checks a release before it is published, and prints its notes: see USAGE.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.join(import.meta.dirname, '..');

const USAGE = `node scripts/release.mjs --tag TAG [options]

Checks that TAG is "v" and the version of package.json, and that CHANGELOG.md has a dated section for that version and
nothing under "Unreleased". Prints the section, which becomes the notes of the release. Exit code 1 if anything is wrong.

  --package FILE      default: package.json
  --changelog FILE    default: CHANGELOG.md`;

/** The sections of a changelog by their heading, without the brackets and the date. */
function sectionsOf(changelog) {
  const sections = new Map();
  for (const part of changelog.split(/^## /m).slice(1)) {
    const [heading = '', ...lines] = part.split('\n');
    const [, name = heading, rest = ''] = /^\[([^\]]+)\](.*)$/.exec(heading) ?? [];
    sections.set(name, { rest: rest.trim(), text: lines.join('\n').trim() });
  }
  return sections;
}

/** Every reason not to release this version under this tag, each with its remedy. */
function problemsOf(tag, version, sections) {
  const problems = [];
  if (tag !== `v${version}`) {
    problems.push(
      `The tag is ${tag} and the version in package.json is ${version}: tag v${version}, or change the version.`,
    );
  }
  const section = sections.get(version);
  const unreleased = sections.get('Unreleased')?.text ?? '';
  if (section === undefined) {
    problems.push(`CHANGELOG.md has no section for ${version}: it must be "## [${version}] - YYYY-MM-DD".`);
  } else {
    if (!/^- \d{4}-\d\d-\d\d$/.test(section.rest)) {
      problems.push(`CHANGELOG.md: [${version}] has no date: it must be "## [${version}] - YYYY-MM-DD".`);
    }
    if (section.text === '') problems.push(`CHANGELOG.md: [${version}] is empty: describe what changed.`);
  }
  if (unreleased !== '') problems.push(`CHANGELOG.md: [Unreleased] is not empty: move its text to [${version}].`);
  return problems;
}

function release(values) {
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.tag === undefined) {
    console.error(`--tag is missing.\n\n${USAGE}`);
    return 2;
  }
  const { version } = JSON.parse(readFileSync(values.package, 'utf8'));
  const sections = sectionsOf(readFileSync(values.changelog, 'utf8'));
  const problems = problemsOf(values.tag, version, sections);
  for (const problem of problems) console.error(`error: ${problem}`);
  if (problems.length > 0) return 1;
  console.log(sections.get(version).text);
  return 0;
}

const { values } = parseArgs({
  options: {
    tag: { type: 'string' },
    package: { type: 'string', default: path.join(root, 'package.json') },
    changelog: { type: 'string', default: path.join(root, 'CHANGELOG.md') },
    help: { type: 'boolean' },
  },
});
process.exitCode = release(values);
