// Finds errors in a parameter file of infra/main.bicep before a deployment begins: deploy.mjs --parameters FILE.

const TOKEN = /\/\/[^\n]*|\/\*[^]*?\*\/|'''[^]*?'''(?!')|'(?:\\.|[^'\\\n])*'|-?\d+|[A-Za-z_]\w*|\n|[^\S\n]+|[^]/g;
const OPENING = { '[': ']', '{': '}', '(': ')' };

/** The value is not a literal, such as a call or a text with an expression in it. The template checks its result. */
class NoLiteral extends Error {}

/** @returns the literals of a .bicepparam file by name; undefined for a value that the file computes */
export function literalParameters(source) {
  const tokens = [...source.matchAll(TOKEN)]
    .map(([token]) => token)
    .filter((token) => !/^(?:\/[/*]|[^\S\n])/.test(token));
  const given = new Map();
  const open = [];
  for (const [index, token] of tokens.entries()) {
    if (token in OPENING) open.push(OPENING[token]);
    else if (token === open.at(-1)) open.pop();
    const startsLine = index === 0 || tokens[index - 1] === '\n';
    if (token !== 'param' || !startsLine || open.length > 0 || tokens[index + 2] !== '=') continue;
    given.set(tokens[index + 1], literalAt(tokens, index + 3));
  }
  return given;
}

function literalAt(tokens, start) {
  let at = start;
  const skip = (what) => {
    while (what.includes(tokens[at])) at += 1;
  };
  const value = () => {
    const token = tokens[at] ?? '';
    at += 1;
    if (token === '[') return elements();
    if (token === '{') return members();
    if (token.startsWith("'")) return text(token);
    if (/^-?\d+$/.test(token)) return Number(token);
    if (['true', 'false', 'null'].includes(token)) return JSON.parse(token);
    throw new NoLiteral();
  };
  const elements = () => {
    const list = [];
    for (skip(['\n', ',']); tokens[at] !== ']'; skip(['\n', ','])) list.push(value());
    at += 1;
    return list;
  };
  const members = () => {
    const object = {};
    for (skip(['\n', ',']); tokens[at] !== '}'; skip(['\n', ','])) {
      const key = tokens[at] ?? '';
      if (tokens[at + 1] !== ':') throw new NoLiteral();
      at += 2;
      object[key.startsWith("'") ? text(key) : key] = value();
    }
    at += 1;
    return object;
  };
  try {
    const found = value();
    // With more text on the line, the value is an expression.
    return [undefined, '\n'].includes(tokens[at]) ? found : undefined;
  } catch (error) {
    if (error instanceof NoLiteral) return undefined;
    throw error;
  }
}

function text(token) {
  if (token.startsWith("'''")) return token.slice(3, -3).replace(/^\r?\n/, '');
  const inner = token.slice(1, -1);
  if (/(?<!\\)\$\{/.test(inner)) throw new NoLiteral();
  return inner.replaceAll(/\\(.)/g, '$1');
}

/** @returns the errors, one a line. infra/main.bicep would refuse them too, but only once the deployment has begun. */
export function problemsOf(source) {
  const given = literalParameters(source);
  const { name, regions, deployments, operatorRanges = [] } = Object.fromEntries(given);
  const names = listed(deployments).map((one) => one?.name);
  const problems = [];
  if (name !== undefined && !/^[a-z][a-z0-9]{2,8}$/.test(name)) {
    problems.push(`name is ${JSON.stringify(name)}: 3 to 9 lowercase letters and digits, beginning with a letter`);
  }
  if (isEmpty(given, 'regions') === isEmpty(given, 'deployments') && !isComputed(given, 'regions', 'deployments')) {
    problems.push('give either regions or deployments');
  }
  for (const region of [...listed(regions), ...listed(deployments).map((one) => one?.region)]) {
    if (typeof region !== 'string' || !/^[a-z][a-z0-9]*$/.test(region)) {
      problems.push(`region ${JSON.stringify(region)}: use its short name, such as northeurope`);
    }
  }
  for (const one of names) {
    if (typeof one !== 'string' || !/^[a-z0-9]{1,20}$/.test(one)) {
      problems.push(`deployments: name ${JSON.stringify(one)}: up to 20 lowercase letters and digits`);
    }
  }
  for (const one of twice([...listed(regions), ...names])) problems.push(`two deployments are called ${one}`);
  for (const range of listed(operatorRanges)) {
    if (!isRange(range)) problems.push(`operatorRanges: ${JSON.stringify(range)} is not a range such as 10.1.0.0/24`);
  }
  return problems;
}

function listed(value) {
  return Array.isArray(value) ? value : [];
}

function isEmpty(given, name) {
  return listed(given.get(name)).length === 0;
}

function isComputed(given, ...names) {
  return names.some((name) => given.has(name) && given.get(name) === undefined);
}

function twice(list) {
  return new Set(list.filter((one, index) => list.indexOf(one) !== index));
}

function isRange(range) {
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(range) ?? [];
  return numbers.length === 5 && numbers.every((number, index) => Number(number) <= (index === 4 ? 32 : 255));
}
