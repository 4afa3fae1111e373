import { AppLoadError } from './app-folder';

export interface Route {
  readonly template: string;
  /** Orders routes that match the same path: the smaller rank is more specific. */
  readonly rank: string;
  /** The values of the template's parameters; undefined if the path does not match. */
  match(path: string): Readonly<Record<string, string>> | undefined;
}

/** Constraints of ASP.NET routes, as in `{id:int}`. */
const CONSTRAINTS: Readonly<Record<string, string>> = {
  alpha: '[A-Za-z]+',
  bool: '[Tt]rue|[Ff]alse',
  guid: '[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}',
  int: '-?\\d+',
  long: '-?\\d+',
};

/** Literal segments first, then parameters with a constraint, then those without, then a catch-all. */
type SegmentRank = '1' | '2' | '3' | '4';

interface Segment {
  readonly rank: SegmentRank;
  readonly pattern: string;
  readonly parameter?: string;
}

function compileSegment(segment: string, isLast: boolean, refuse: (why: string) => AppLoadError): Segment {
  if (!/[{}]/.test(segment)) return { rank: '1', pattern: `/${segment.replace(/[.*+?^$()|[\]\\]/g, '\\$&')}` };
  const match = /^\{(\*{0,2})(\w+)(?::(\w+))?(\?)?\}$/.exec(segment);
  const [, star = '', parameter = '', constraint, optional] = match ?? [];
  if (match === null) throw refuse(`'${segment}' must be text, {name}, {name?}, {name:constraint} or {*name}.`);
  if ((star !== '' || optional !== undefined) && !isLast) throw refuse(`'${segment}' may only come last.`);
  if (star !== '') return { rank: '4', pattern: '(?:/(.*))?', parameter };
  if (constraint !== undefined && !Object.hasOwn(CONSTRAINTS, constraint)) {
    throw refuse(`the constraint '${constraint}' is not supported here, only ${Object.keys(CONSTRAINTS).join(', ')}.`);
  }
  const value = constraint === undefined ? '[^/]+' : (CONSTRAINTS[constraint] ?? '');
  const rank = constraint === undefined ? '3' : '2';
  return { rank, pattern: optional === undefined ? `/(${value})` : `(?:/(${value}))?`, parameter };
}

/**
 * Compiles the route of an HTTP function. Matching ignores case, as on Azure.
 * @param prefix - from `host.json`; may be empty
 * @throws {@link AppLoadError}
 */
export function compileRoute(prefix: string, route: string, functionName: string): Route {
  const template = [prefix, route.replace(/^\/+|\/+$/g, '')].filter((part) => part !== '').join('/');
  const refuse = (why: string): AppLoadError =>
    new AppLoadError(`Function '${functionName}': the route '${route}' cannot be used: ${why}`);
  const first = route.replace(/^\/+/, '').split('/')[0]?.toLowerCase();
  // The real host does not start with these, whatever the prefix.
  if (first === 'admin' || first === 'runtime')
    throw refuse("routes that begin with 'admin' or 'runtime' are the host's own.");
  const parts = template === '' ? [] : template.split('/');
  const segments = parts.map((part, index) => compileSegment(part, index === parts.length - 1, refuse));
  const expression = new RegExp(`^${segments.map((one) => one.pattern).join('')}/?$`, 'i');
  const parameters = segments.flatMap((one) => (one.parameter === undefined ? [] : [one.parameter]));
  return {
    template,
    rank: segments.map((one) => one.rank).join(''),
    match(path) {
      const found = expression.exec(path);
      if (found === null) return undefined;
      const values: [string, string][] = [];
      for (const [index, name] of parameters.entries()) {
        const value = found[index + 1];
        if (value !== undefined && value !== '') values.push([name, safeDecode(value)]);
      }
      return Object.fromEntries(values);
    },
  };
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The text is not a valid encoding, so it stands for itself.
    return text;
  }
}
