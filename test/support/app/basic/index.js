// A function app in place of a coordinator: its tick starts an orchestration, and its attempt logs a line.
const { writeSync } = require('node:fs');
const { app } = require('@azure/functions');
const df = require('durable-functions');

const say = (context, event, rest = {}) =>
  context.log(`cronlease ${JSON.stringify({ event, at: new Date().toISOString(), job: 'sample', ...rest })}`);

df.app.activity('attempt', {
  handler: async (input, context) => {
    if (input.block) {
      // At once: what `context.log` gets would wait for the event loop.
      writeSync(1, 'blocked\n');
      for (;;);
    }
    say(context, 'started', { attempt: 1, latenessMs: Date.now() - input.startedAt });
    if (input.lastsMs) await new Promise((resolve) => setTimeout(resolve, input.lastsMs));
    if (input.fail) throw new Error('as asked');
    return { got: input.startedAt, instance: context.triggerMetadata.instanceId };
  },
});

df.app.orchestration('run', function* (context) {
  return yield context.df.callActivity('attempt', context.df.getInput());
});

const client = df.input.durableClient();

app.timer('tick', {
  schedule: '%TICK_SCHEDULE%',
  extraInputs: [client],
  handler: async (timer, context) => {
    const durable = df.getClient(context);
    await durable.startNew('run', { input: { startedAt: Date.now() } });
  },
});

app.http('echo', {
  methods: ['GET', 'POST', 'HEAD'],
  authLevel: 'anonymous',
  route: 'echo/{name}',
  handler: async (request) => ({
    jsonBody: { name: request.params.name, q: request.query.get('q'), body: await request.text(), cwd: process.cwd() },
  }),
});

app.http('start', {
  methods: ['POST'],
  extraInputs: [client],
  handler: async (request, context) => {
    const durable = df.getClient(context);
    const { input, wait, instanceId } = await request.json();
    const id = await durable.startNew('run', { input, ...(instanceId ? { instanceId } : {}) });
    return wait
      ? durable.waitForCompletionOrCreateCheckStatusResponse(request, id, {
          timeoutInMilliseconds: 5000,
          retryIntervalInMilliseconds: 5,
        })
      : { jsonBody: { id } };
  },
});

app.http('settings', {
  handler: () => ({
    jsonBody: Object.fromEntries(
      Object.entries(process.env).filter(([name]) =>
        /^(CRONLEASE|AzureWebJobs|AzureFunc|TASKHUB|WEBSITE|TICK)/.test(name),
      ),
    ),
  }),
});

app.hook.appTerminate(async () => {
  await new Promise((resolve) => setTimeout(resolve, 50));
  console.log('drained');
});
