import { app } from '@azure/functions';

/** How long a copy takes. Its state follows from its beginning, so that any instance can tell it. */
const COPY_MS = 40_000;

/** Registers the functions that the jobs `close-day` and `copy-files` call. */
export function registerCallTargets(): void {
  app.http('closeDay', {
    route: 'samples/close-day',
    methods: ['POST'],
    authLevel: 'anonymous',
    handler: async (request) => ({ jsonBody: { closed: await request.json() } }),
  });
  app.http('copyFiles', {
    route: 'samples/copy-files',
    methods: ['POST'],
    authLevel: 'anonymous',
    handler: () => ({
      status: 202,
      headers: { 'operation-location': `/api/samples/copy-files/${String(Date.now())}`, 'retry-after': '2' },
    }),
  });
  app.http('copyState', {
    route: 'samples/copy-files/{since}',
    methods: ['GET'],
    authLevel: 'anonymous',
    handler: ({ params }) => {
      const share = Math.min(1, (Date.now() - Number(params['since'])) / COPY_MS);
      const status = share < 1 ? 'Running' : 'Succeeded';
      return { headers: { 'retry-after': '2' }, jsonBody: { status, percentComplete: Math.floor(share * 100) } };
    },
  });
}
