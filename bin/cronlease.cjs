#!/usr/bin/env node
'use strict';
// A file that exists before the first build: npx links a command once, and never again if its file was missing.
const { existsSync } = require('node:fs');
const path = require('node:path');

const main = path.join(__dirname, '../dist/lib/cli/main.js');
if (existsSync(main)) require(main);
else {
  console.error('cronlease is not built yet in this folder. Run this first: npm run build');
  process.exitCode = 1;
}
