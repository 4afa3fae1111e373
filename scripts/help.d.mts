import type { HelpBlock } from '../src/dashboard/help-content';

/** The blocks of the help page. Throws if the page has something that it cannot show. */
export function helpBlocks(markdown?: string): readonly HelpBlock[];
