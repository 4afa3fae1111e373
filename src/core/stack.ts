/**
 * A stack trace with only the frames of the user's own code, without those of Node, packages and cronlease.
 *
 * @param own the folder of the running cronlease; if that is a clone, its `src/jobs` is the user's code
 */
export function userFrames(stack: string, own: string): string {
  return stack
    .split('\n')
    .filter((line) => !isFrame(line) || !isForeign(line, own))
    .join('\n');
}

function isFrame(line: string): boolean {
  return /^\s+at\s/.test(line);
}

function isForeign(frame: string, own: string): boolean {
  if (/[(\s]node:|webpack:\/\/|[\\/]node_modules[\\/]|\(<anonymous>\)|\(native\)/.test(frame)) return true;
  const path = frame.replaceAll('\\', '/').replaceAll('file://', '');
  const root = `${own.replaceAll('\\', '/')}/`;
  return path.includes(`${root}dist/lib/`) || (path.includes(`${root}src/`) && !path.includes(`${root}src/jobs/`));
}
