import { app } from '@azure/functions';

app.http('hangs', { handler: () => new Promise(() => {}) });
