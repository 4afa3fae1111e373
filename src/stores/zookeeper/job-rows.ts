import type { JobName } from '../../core/brand';
import type { ListedControl } from '../../lease/store';
import { listingOf } from '../facets/listing';
import { dateOf, type JobRowCalls } from '../port';
import { type Ask, asOfNow } from './ask';
import { contentIn } from './bodies';
import { etagAt } from './entries';
import { namesIn } from './folders';
import { pathOf, type Paths } from './paths';
import { rowCalls, rowsIn } from './rows';
import type { Session } from './session';

/** The rows of jobs. A listing asks for the names, and then for all rows and controls without waiting in between. */
export function jobRowsIn(ask: Ask, paths: Paths): JobRowCalls {
  return {
    ...rowCalls(ask, paths, paths.jobs),
    list: (options) =>
      ask({ what: 'list jobs', kind: 'listing', options }, async (session) => {
        const only = options?.job;
        const [{ now }, [rowNames, controlNames]] = await asOfNow(session, paths.now, () =>
          only === undefined
            ? Promise.all([namesIn(session, paths.jobs), namesIn(session, paths.controls.path)])
            : Promise.resolve([[only], [only]]),
        );
        const [rows, controls] = await Promise.all([
          rowsIn(session, paths, paths.jobs, rowNames ?? []),
          controlsOf(session, paths, controlNames ?? []),
        ]);
        return listingOf(dateOf(now), rows, controls, only);
      }),
  };
}

async function controlsOf(
  session: Session,
  { controls }: Paths,
  names: readonly string[],
): Promise<ReadonlyMap<JobName, ListedControl>> {
  const nodes = await Promise.all(names.map((name) => session.get(pathOf(controls, name))));
  return new Map(
    nodes.flatMap((node, index) =>
      node === undefined
        ? []
        : [[names[index] as JobName, { etag: etagAt(node.stat), metadata: contentIn(node.data).metadata }]],
    ),
  );
}
