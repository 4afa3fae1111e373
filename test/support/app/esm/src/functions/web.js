import { app } from '@azure/functions';

let started;
app.hook.appStart(() => (started = 'yes'));
app.hook.preInvocation((context) => {
  context.hookData.by = started;
  const { functionHandler } = context;
  context.functionHandler = async (...args) => ({
    ...(await functionHandler(...args)),
    cookies: [{ name: 'a', value: 'b' }],
  });
});
app.hook.postInvocation((context) => {
  context.result = { ...context.result, headers: { 'x-hooks': context.hookData.by } };
});

// The route with a parameter is registered first, but the more specific route must still win.
app.http('any', { route: 'things/{id}', handler: (request) => ({ body: `thing ${request.params.id}` }) });
app.http('all', { route: 'things/all', handler: () => ({ body: 'all of them' }) });
app.deleteRequest('drop', { route: 'things/{id}', handler: () => ({ status: 204 }) });
app.http('throws', {
  handler: () => {
    throw new Error('handler broke');
  },
});
