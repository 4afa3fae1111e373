import { app } from '@azure/functions';

// Not matched by "*.js": registering it would fail, since no file is to load it.
app.http('never', { handler: () => ({}) });
