/** Entry of a process that measures one case and ends, so that no case inherits another one's heap. */
import { memoryCase } from './memory-case';

const [jobs = 0, instances = 0] = process.argv.slice(2).map(Number);
void memoryCase(jobs, instances).then((result) => process.send?.(result, () => process.exit(0)));
