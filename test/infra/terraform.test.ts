import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Language, type Node, Parser } from 'web-tree-sitter';
import { literal, nodesOf, parseTemplates, readSources, ROOT, type Templates } from './bicep';

const FOLDER = path.join(ROOT, 'infra/terraform');
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.tf'));
const TEXTS = new Map(FILES.map((file) => [file, readFileSync(path.join(FOLDER, file), 'utf8')]));
const ALL = [...TEXTS.values()].join('\n');

/** What a resource of azurerm is in Azure's terms. The other types name themselves, or belong to another resource. */
const TYPES = new Map([
  ['azurerm_application_insights', 'Microsoft.Insights/components'],
  ['azurerm_application_insights_standard_web_test', 'Microsoft.Insights/webtests'],
  ['azurerm_log_analytics_workspace', 'Microsoft.OperationalInsights/workspaces'],
  ['azurerm_management_lock', 'Microsoft.Authorization/locks'],
  ['azurerm_monitor_action_group', 'Microsoft.Insights/actionGroups'],
  ['azurerm_monitor_diagnostic_setting', 'Microsoft.Insights/diagnosticSettings'],
  ['azurerm_monitor_metric_alert', 'Microsoft.Insights/metricAlerts'],
  ['azurerm_monitor_scheduled_query_rules_alert_v2', 'Microsoft.Insights/scheduledQueryRules'],
  ['azurerm_network_security_group', 'Microsoft.Network/networkSecurityGroups'],
  ['azurerm_private_dns_zone', 'Microsoft.Network/privateDnsZones'],
  ['azurerm_private_dns_zone_virtual_network_link', 'Microsoft.Network/privateDnsZones/virtualNetworkLinks'],
  ['azurerm_private_endpoint', 'Microsoft.Network/privateEndpoints'],
  ['azurerm_resource_group', 'Microsoft.Resources/resourceGroups'],
  ['azurerm_role_assignment', 'Microsoft.Authorization/roleAssignments'],
  ['azurerm_service_plan', 'Microsoft.Web/serverfarms'],
  ['azurerm_storage_account', 'Microsoft.Storage/storageAccounts'],
  ['azurerm_storage_container', 'Microsoft.Storage/storageAccounts/blobServices/containers'],
  [
    'azurerm_storage_container_immutability_policy',
    'Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies',
  ],
  ['azurerm_storage_management_policy', 'Microsoft.Storage/storageAccounts/managementPolicies'],
  ['azurerm_user_assigned_identity', 'Microsoft.ManagedIdentity/userAssignedIdentities'],
  ['azurerm_virtual_network', 'Microsoft.Network/virtualNetworks'],
]);
/** Resources here, and blocks of another one there. */
const PARTS_THERE = ['azurerm_subnet', 'azurerm_subnet_network_security_group_association'];
const PARTS_HERE = /\/(?:blob|queue|table)Services$|\/privateDnsZoneGroups$/;
/** Left to `app_settings`: the code has defaults. */
const LEFT_OUT = [
  ...['CRONLEASE_CALL_HOSTS', 'CRONLEASE_LOOK_AHEAD', 'CRONLEASE_MANAGE_READ_ONLY', 'CRONLEASE_NOTIFY_HOSTS'],
  'CRONLEASE_PINGS',
  ...['CRONLEASE_PUBLIC_URL', 'CRONLEASE_RECEIVERS', 'CRONLEASE_REDACT', 'CRONLEASE_SWEEP_INTERVAL'],
  'CRONLEASE_TICK',
];

interface Resource {
  readonly type: string;
  readonly name: string;
  readonly text: string;
}

let templates: Templates;
let trees: ReadonlyMap<string, Node>;
let resources: readonly Resource[];

beforeAll(async () => {
  templates = await parseTemplates(readSources());
  const require = createRequire(__filename);
  const grammar = require.resolve('@tree-sitter-grammars/tree-sitter-hcl/tree-sitter-terraform.wasm');
  const parser = new Parser().setLanguage(await Language.load(grammar));
  trees = new Map([...TEXTS].map(([file, text]) => [file, parser.parse(text)?.rootNode] as [string, Node]));
  resources = [...trees.values()].flatMap((root) =>
    nodesOf(root).flatMap((node): Resource[] => {
      const [, kind, type, name] = /^(resource) "(\w+)" "(\w+)"/.exec(node.type === 'block' ? node.text : '') ?? [];
      return kind === undefined || type === undefined || name === undefined ? [] : [{ type, name, text: node.text }];
    }),
  );
});

/** The value of an attribute, as it stands there. */
function attribute({ text }: Resource, name: string): string | undefined {
  return new RegExp(`^\\s*${name}\\s*= (.*)$`, 'm').exec(text)?.[1];
}

describe('the Terraform module', () => {
  it.each(FILES)('%s can be read to its end', (file) => {
    expect(trees.get(file)?.hasError).toBe(false);
  });

  it('creates what the templates create', () => {
    const here = resources
      .filter(({ type }) => !PARTS_THERE.includes(type))
      .map((one) => TYPES.get(one.type) ?? attribute(one, 'type')?.replaceAll('"', '').split('@')[0]);
    const there = [...templates.values()]
      .flatMap((template) => template.resources)
      .filter(({ existing, type }) => !existing && !PARTS_HERE.test(type))
      .map(({ type }) => type);
    expect(new Set(here)).toEqual(new Set(there));
    const versions = new Map(
      [...templates.values()].flatMap((template) => template.resources).map(({ type, version }) => [type, version]),
    );
    for (const one of resources.filter(({ type }) => type === 'azapi_resource')) {
      const [type = '', version] = attribute(one, 'type')?.replaceAll('"', '').split('@') ?? [];
      expect([type, version]).toEqual([type, versions.get(type)]);
    }
  });

  it('gives the app the settings of the template', () => {
    const source = templates.get('infra/modules/deployment.bicep')?.source ?? '';
    const there = [...source.matchAll(/name: '(\w+)'\s+value|name: '(\w+)', value/g)].map(([, a, b]) => a ?? b);
    const here = [...ALL.matchAll(/^\s+((?:AzureWebJobs|APPLICATION|CRONLEASE_|HANDLERS_|TASKHUB_)\w+)\s+=/gm)].map(
      ([, name]) => name,
    );
    expect(new Set([...here, ...LEFT_OUT])).toEqual(new Set(there));
  });

  it('takes a /24 for each app from an address space of any length, as the templates do', () => {
    expect(templates.get('infra/main.bicep')?.source).toContain('cidrSubnet(addressSpace, 24, i)');
    expect(ALL).toContain(
      'cidrsubnet(var.address_space, 24 - tonumber(split("/", var.address_space)[1]), app.network)',
    );
  });

  it('gives a group that operates and reads both roles, as the templates do', () => {
    const access = /locals \{[^}]*?access = merge\([\s\S]*?\n {2}\)/.exec(ALL)?.[0] ?? '';
    const keys = [...access.matchAll(/"([^"]*)" => \{\s*scope/g)].map(([, key]) => key);
    expect(keys.length).toBeGreaterThanOrEqual(5);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('has the alerts of the templates', () => {
    const rules = templates.get('infra/modules/alerts.bicep');
    const [, events = ''] = /var events = '''\n(.*?)'''/s.exec(rules?.source ?? '') ?? [];
    const [, own = ''] = /events = <<-KQL\n(.*?)\n\s*KQL/s.exec(ALL) ?? [];
    const lines = (text: string): string[] => text.trim().split(/\s*\n\s*/);
    expect(lines(own)).toEqual(lines(events));
    const filters = [...(rules?.source ?? '').matchAll(/filter: ('.*')$/gm)].map(([, text = '']) =>
      text.slice(1, -1).replaceAll("\\'", "'"),
    );
    expect(filters.length).toBeGreaterThan(3);
    expect([...ALL.matchAll(/filter\s+= "(.*)"$/gm)].map(([, text]) => text)).toEqual(filters);
    for (const phrase of ["event == 'overdue'", "Executed 'Functions.cronleaseTick'"]) expect(ALL).toContain(phrase);
  });

  it('closes accounts, apps and logs as the templates do', () => {
    const of = (type: string): readonly Resource[] => resources.filter((one) => one.type === type);
    for (const account of of('azurerm_storage_account')) {
      expect(attribute(account, 'shared_access_key_enabled')).toBe('false');
      expect(attribute(account, 'allow_nested_items_to_be_public')).toBe('false');
      expect(attribute(account, 'cross_tenant_replication_enabled')).toBe('false');
      expect(attribute(account, 'min_tls_version')).toBe('"TLS1_2"');
      expect(attribute(account, 'public_network_access_enabled')).toBe('!var.private_network');
    }
    for (const container of of('azurerm_storage_container')) {
      expect(attribute(container, 'container_access_type')).toBe('"private"');
    }
    for (const workspace of of('azurerm_log_analytics_workspace')) {
      expect(attribute(workspace, 'local_authentication_enabled')).toBe('false');
    }
    const app = resources.find(({ type, name }) => type === 'azapi_resource' && name === 'app');
    for (const line of ['httpsOnly', 'functionsRuntimeAdminIsolationEnabled']) {
      expect(app && attribute(app, line)).toBe('true');
    }
    expect(ALL).toMatch(/requireAuthentication\s+= true/);
    const prefixes = /\["runs", "requests", "logs", "audit", "notices"\]/;
    expect(of('azurerm_storage_management_policy').map(({ text }) => prefixes.test(text))).toEqual([true]);
    const lifecycle = nodesOf(templates.get('infra/modules/coordination.bicep')?.root ?? never());
    const folders = lifecycle.filter(({ type, text }) => type === 'string' && text.startsWith("'${containerName}/"));
    expect(folders.map((node) => literal(node) ?? node.text)).toHaveLength(5);
  });
});

function never(): never {
  throw new Error('there is no infra/modules/coordination.bicep');
}
