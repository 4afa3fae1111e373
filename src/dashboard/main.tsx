import { render } from 'preact';
import { followHistory } from './address';
import { App } from './app';
import { startClock } from './clock';
import { watchVisibility } from './live';

const root = document.getElementById('app');
if (root === null) throw new Error('index.html has no element "app"');
followHistory();
watchVisibility();
startClock();
render(<App />, root);
