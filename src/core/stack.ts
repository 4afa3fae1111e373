/**
 * A stack trace with the frames of the user's own code alone: those of Node, of packages and of cronlease are left out.
 *
 * @param own the folder of the cronlease that runs: where that is a clone, its `src/jobs` is the user's
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
  if (/[(\s]node:|[\\/]node_modules[\\/]|\(<anonymous>\)|\(native\)/.test(frame)) return true;
  const path = frame.replaceAll('\\', '/').replaceAll('file://', '');
  const root = `${own.replaceAll('\\', '/')}/`;
  return path.includes(`${root}dist/lib/`) || (path.includes(`${root}src/`) && !path.includes(`${root}src/jobs/`));
}
