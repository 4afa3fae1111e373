import { closeSync, openSync, readSync } from 'node:fs';
import { parseStart, type Start } from '../figures/records';

/** The starts that workers have noted so far. */
export interface StartsFile {
  /** All of them; what is new is read from the file. */
  read(): readonly Start[];
  close(): void;
}

const CHUNK = 1 << 20;

export function openStarts(file: string): StartsFile {
  const fd = openSync(file, 'a+');
  const buffer = Buffer.alloc(CHUNK);
  const starts: Start[] = [];
  let position = 0;
  let rest = '';
  return {
    read() {
      for (;;) {
        const length = readSync(fd, buffer, 0, CHUNK, position);
        if (length === 0) return starts;
        position += length;
        const lines = (rest + buffer.toString('latin1', 0, length)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) starts.push(parseStart(line));
      }
    },
    close: () => closeSync(fd),
  };
}
