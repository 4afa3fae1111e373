// Removes temporary folders once the process that created them has ended, even after kill -9.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';

function removeAll(folders) {
  // The dead process's children may still write for a moment, so a folder that fills again is retried for 5 s.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/** Removes the folders when this process exits. If this process is killed, a second process removes them. */
export function removeWithThisProcess(...folders) {
  process.once('exit', () => {
    removeAll(folders);
  });
  const watcher = spawn(process.execPath, [import.meta.filename, ...folders], {
    // A signal to this process's group does not reach it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  });
  watcher.unref();
  // This process writes nothing: the pipe closes when it ends.
  watcher.stdin.unref();
}

/** A new folder in `scratch`, which is removed with this process, even after `kill -9`. */
export function scratchFolder(scratch, prefix) {
  mkdirSync(scratch, { recursive: true });
  const folder = mkdtempSync(path.join(scratch, prefix));
  removeWithThisProcess(folder);
  return folder;
}

if (process.argv[1] === import.meta.filename) {
  const folders = process.argv.slice(2);
  process.stdin.resume().once('close', () => {
    removeAll(folders);
  });
}
