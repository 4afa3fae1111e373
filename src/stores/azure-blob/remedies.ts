import type { Remedies } from '../../lease/trial';
import type { Identity } from './caller';

/** @param caller undefined: calls use a key or SAS, or the token's owner is unknown */
export function remediesFor(location: string, caller: Identity | undefined): Remedies {
  return {
    noToken: 'sign in with "az login" or "azd auth login", or name a connection string with --storage',
    network: "run this inside the account's virtual network, or let this address through the account's firewall",
    credentials: 'sign in to the tenant of the account: "az login --tenant TENANT"',
    role:
      caller === undefined
        ? 'assign the role Storage Blob Data Contributor on the container, or use a key or SAS that allows all this'
        : roleRemedy(location, caller),
    versions:
      'turn blob versioning off for this account, or let a lifecycle rule delete versions of jobs/, runs/, logs/ and ' +
      'deployments/ after a day',
  };
}

/** The command that assigns the role to this caller on this container. */
function roleRemedy(location: string, { kind, objectId }: Identity): string {
  const url = URL.parse(location);
  const account = url?.hostname.split('.')[0] ?? 'ACCOUNT';
  const container = url?.pathname.split('/').at(-1) ?? 'CONTAINER';
  const type = kind === 'user' ? 'User' : 'ServicePrincipal';
  return (
    `give it the role Storage Blob Data Contributor on container ${container} of account ${account} (Storage Blob Data ` +
    'Reader is enough for reading); it takes effect within minutes: az role assignment create --role "Storage Blob Data ' +
    `Contributor" --assignee-object-id ${objectId} --assignee-principal-type ${type} --scope "$(az storage account ` +
    `show --name ${account} --query id --output tsv)/blobServices/default/containers/${container}"`
  );
}
