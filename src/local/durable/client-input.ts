/** Path of the Durable extension's HTTP API on the host. */
export const DURABLE_PATH = '/runtime/webhooks/durabletask';

/** The links to manage one orchestration instance over HTTP. */
export function managementUrls(baseUrl: string, instanceId: string, hubName: string): Record<string, string> {
  const instance = `${baseUrl}/instances/${encodeURIComponent(instanceId)}`;
  const query = `taskHub=${encodeURIComponent(hubName)}&connection=Storage`;
  return {
    id: instanceId,
    statusQueryGetUri: `${instance}?${query}`,
    sendEventPostUri: `${instance}/raiseEvent/{eventName}?${query}`,
    terminatePostUri: `${instance}/terminate?reason={text}&${query}`,
    purgeHistoryDeleteUri: `${instance}?${query}`,
  };
}

/**
 * The content of a durable client input: the addresses at which the client of `durable-functions` finds the hub.
 * @param origin - the host's own, such as `http://127.0.0.1:7071`
 */
export function durableClientInput(origin: string, hubName: string): string {
  const baseUrl = origin + DURABLE_PATH;
  const create = `${baseUrl}/orchestrators/{functionName}[/{instanceId}]`;
  return JSON.stringify({
    taskHubName: hubName,
    creationUrls: {
      createNewInstancePostUri: create,
      createAndWaitOnNewInstancePostUri: `${create}?timeout={timeoutInSeconds}&pollingInterval={intervalInSeconds}`,
    },
    managementUrls: managementUrls(baseUrl, 'INSTANCEID', hubName),
    baseUrl,
    requiredQueryStringParameters: '',
    // The final slash matters: the client resolves its paths against this URL.
    rpcBaseUrl: `${baseUrl}/`,
    httpBaseUrl: baseUrl,
  });
}
