import { app } from '@azure/functions';

app.http('never', { handler: () => ({}) });
