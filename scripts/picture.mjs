// Draws docs/first-run.svg from a true run of "npm start", in which the holder of the first long run is killed: see USAGE.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs, stripVTControlCharacters } from 'node:util';

const USAGE = `npm run picture -- [options]

Runs the commands of "npm start", draws what they print as docs/first-run.svg, and stops.

  --seconds N    how long to run (default: 75)
  --kill JOB     kill the deployment that starts this job, 2 s after it has (default: none)`;

/** It begins every escape sequence. */
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

/** The spans of a line, by its escape sequences for colours, bold and dim. */
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
    if (kill === undefined || killed || pid === undefined) return;
    killed = true;
    setTimeout(() => process.kill(Number(pid), 'SIGKILL'), 2000);
  });
  await new Promise((resolve) => start.on('close', resolve));
  return text;
}

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '75' }, kill: { type: 'string' }, help: { type: 'boolean' } },
});
if (values.help) {
  console.log(USAGE);
} else {
  const text = await record(values);
  const shown = text.replaceAll(process.cwd(), '/home/you/cronlease').trimEnd().split('\n');
  writeFileSync('docs/first-run.svg', svgOf(['$ npm start', ...shown]));
}
