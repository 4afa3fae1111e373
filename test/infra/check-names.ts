import { literal, member, type Template } from './bicep';
import type { Check } from './checks';
import { evaluate, FailedError, type Value } from './evaluate';

type Given = Readonly<Record<string, Value>>;

const NORTH = 'northeurope';

/** By what main.bicep is given: the names that it makes, or why it refuses. */
const CASES: readonly (readonly [given: Given, expected: readonly string[] | RegExp])[] = [
  [{ regions: [NORTH, 'swedencentral'] }, [NORTH, 'swedencentral']],
  [{ deployments: [{ name: 'one', region: NORTH }] }, ['one']],
  [
    {
      deployments: [
        { name: NORTH, region: NORTH },
        { name: 'second', region: NORTH },
      ],
    },
    [NORTH, 'second'],
  ],
  [{}, /either regions or deployments/],
  [{ regions: [NORTH], deployments: [{ name: 'one', region: NORTH }] }, /either regions or deployments/],
  [{ regions: [NORTH, NORTH] }, /Two deployments have one name/],
  [{ regions: ['North Europe'] }, /without "N   E"/],
  [{ name: 'My-App', regions: [NORTH] }, /without "M - A".*begin with a lowercase letter/],
  [{ name: '1st', regions: [NORTH] }, /begin with a lowercase letter/],
  [{ name: 'bücher', regions: [NORTH] }, /without "ü"/],
  [{ deployments: [{ name: 'two_b', region: NORTH }] }, /without "_"/],
];

function namesFrom(main: Template, given: Given): Value | string {
  const all = { name: 'jobs', regions: [], deployments: [], ...given };
  const value = main.variables.get('deploymentNames');
  try {
    return value === undefined ? 'nothing' : evaluate(main, value, all);
  } catch (error) {
    if (error instanceof FailedError) return error.message;
    throw error;
  }
}

/** What no account and no hub can be called is refused before anything is made. */
export const names: Check = ({ templates }) => {
  const main = templates.get('infra/main.bicep');
  if (main === undefined) return ['there is no infra/main.bicep'];
  return CASES.flatMap(([given, expected]) => {
    const found = namesFrom(main, given);
    const isRight =
      expected instanceof RegExp
        ? typeof found === 'string' && expected.test(found)
        : JSON.stringify(found) === JSON.stringify(expected);
    return isRight ? [] : [`${JSON.stringify(given)} makes ${JSON.stringify(found)}, not ${String(expected)}`];
  });
};

/** What one region in the short form has made since there are templates: another name would be another resource. */
const OF_OLD: readonly (readonly [file: string, symbol: string, name: string])[] = [
  ['infra/modules/deployment.bicep', 'identity', 'id-jobs-northeurope'],
  ['infra/modules/deployment.bicep', 'hostAccount', 'stjobs<subscription jobs northeurope>'],
  ['infra/modules/deployment.bicep', 'component', 'appi-jobs-northeurope'],
  ['infra/modules/deployment.bicep', 'plan', 'plan-jobs-northeurope'],
  ['infra/modules/network.bicep', 'endpointRules', 'nsg-jobs-northeurope-endpoints'],
  ['infra/modules/network.bicep', 'appRules', 'nsg-jobs-northeurope-app'],
  ['infra/modules/network.bicep', 'network', 'vnet-jobs-northeurope'],
  ['infra/modules/network.bicep', 'endpoints', 'pe-jobs-northeurope-host-blob'],
  ['infra/main.bicep', 'deploymentGroups', 'rg-jobs-northeurope'],
];

export const namesOfOld: Check = ({ templates }) => {
  const given = {
    ...{ name: 'jobs', regions: [NORTH], deployments: [], deploymentName: NORTH, location: NORTH },
    ...{ target: { name: 'host-blob' }, id: NORTH },
  };
  const wrong = OF_OLD.flatMap(([file, symbol, expected]) => {
    const template = templates.get(file);
    const resource = template?.resources.find((one) => one.symbol === symbol);
    const name = member(resource?.body, 'name');
    if (template === undefined || name === undefined) return [`${file}: there is no ${symbol}`];
    const found = literal(name) ?? evaluate(template, name, given);
    return found === expected ? [] : [`${file}: ${symbol} is called ${JSON.stringify(found)}, not ${expected}`];
  });
  const main = templates.get('infra/main.bicep');
  const app = main?.variables.get('apps')?.text ?? '';
  const isApp = app.includes("'func-${name}-${id}-${take(uniqueString(subscription().id, name, id), 6)}'");
  return [...wrong, ...(isApp ? [] : [`the apps are called ${app}`])];
};
