import { render } from 'preact';
import { followHistory } from './data/address';
import { App } from './pages/app';
import { start } from './data/live';

const root = document.getElementById('app');
if (root === null) throw new Error('index.html has no element "app"');
followHistory();
start();
render(<App />, root);
