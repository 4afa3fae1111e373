// Draws docs/first-run.svg from a true run of "npm start" in which the holder of a run is killed: see USAGE.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs, stripVTControlCharacters } from 'node:util';

const USAGE = `npm run picture -- [options]

Runs "npm start", kills the deployment that holds a job 2 s after the job's start, and draws the output as
docs/first-run.svg.
Of the other jobs, the picture has the first lines; an ellipsis stands for the rest.

  --seconds N    how long to run (default: 50)
  --kill JOB     the job (default: count-to-20)`;

/** The most lines of other jobs in the picture. */
const OTHERS = 3;

/** The beginning of every escape sequence. */
const ESCAPE = `${String.fromCodePoint(27)}[`;
const COLUMNS = 118;
const LINE_PX = 19;
const CHARACTER_PX = 7.83;
const COLORS = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 34: '#79c0ff', 35: '#d2a8ff', 36: '#76e3ea' };

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The style after the codes of one escape sequence. */
function styleAfter(style, codes) {
  return codes.reduce((current, code) => {
    if (code === 0) return {};
    if (code === 1) return { ...current, bold: true };
    if (code === 2) return { ...current, dim: true };
    if (code === 22) return { fill: current.fill };
    return { ...current, fill: COLORS[code] };
  }, style);
}

/** The spans of a line, split at its escape sequences for colours, bold and dim. */
function spansOf(line) {
  const [first, ...parts] = line.split(ESCAPE);
  const spans = [{ text: first }];
  let style = {};
  let left = COLUMNS - first.length;
  for (const part of parts) {
    const [, codes = '', text = ''] = /^([\d;]*)m(.*)$/.exec(part) ?? [];
    style = styleAfter(style, codes.split(';').map(Number));
    spans.push({ text: text.slice(0, Math.max(0, left)), ...style });
    left -= text.length;
  }
  return spans.filter(({ text }) => text !== '');
}

function svgOf(lines) {
  const width = Math.ceil(COLUMNS * CHARACTER_PX + 32);
  const height = lines.length * LINE_PX + 32;
  const rows = lines.map((line, index) => {
    const spans = spansOf(line).map(({ text, fill, bold, dim }) => {
      const weight = bold ? ' font-weight="bold"' : '';
      return `<tspan fill="${fill ?? (dim ? '#8b949e' : '#e6edf3')}"${weight}>${escape(text)}</tspan>`;
    });
    return `  <text x="16" y="${16 + LINE_PX * (index + 0.75)}" xml:space="preserve">${spans.join('')}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    '  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13">',
    `  <rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
    ...rows,
    '</svg>\n',
  ].join('\n');
}

async function record({ seconds, kill }) {
  const start = spawn('npm', ['start', '--silent', '--', '--duration', `${seconds}s`], {
    env: { ...process.env, FORCE_COLOR: '1', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  let killed = false;
  start.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
    const plain = stripVTControlCharacters(text);
    const holder = new RegExp(`(\\S+) +${kill} +started`).exec(plain)?.[1];
    const pid = new RegExp(`${holder} .*pid (\\d+)`).exec(plain)?.[1];
    if (killed || pid === undefined) return;
    killed = true;
    setTimeout(() => process.kill(Number(pid), 'SIGKILL'), 2000);
  });
  await new Promise((resolve) => start.on('close', resolve));
  return text;
}

/** The lines to show, up to the end of the killed job's run: all but most of those of other jobs. */
function shownOf(text, job) {
  const lines = text.replaceAll(process.cwd(), '/home/you/cronlease').split('\n');
  const end = lines.findIndex((line) => new RegExp(` ${job} +succeeded `).test(stripVTControlCharacters(line)));
  if (end < 0) throw new Error(`${job} did not succeed in time: raise --seconds`);
  let others = 0;
  const shown = [];
  for (const line of lines.slice(0, end + 1)) {
    const [, subject] = /^\d\d:\d\d:\d\d\S* +\S+ +(\S+) /.exec(stripVTControlCharacters(line)) ?? [];
    const other = subject !== undefined && ![job, 'exited', 'restarted'].includes(subject);
    if (other) others += 1;
    if (!other || others <= OTHERS) shown.push(line);
    else if (shown.at(-1) !== '…') shown.push('…');
  }
  return shown;
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '50' },
    kill: { type: 'string', default: 'count-to-20' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  console.log(USAGE);
} else {
  const shown = shownOf(await record(values), values.kill);
  writeFileSync('docs/first-run.svg', svgOf(['$ npm start', ...shown]));
}
