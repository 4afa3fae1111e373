import type { JSX } from 'preact';
import { changed, param } from '../data/address';
import { Link } from './parts';

/** The page in the address, from 1. */
export function pageNumber(): number {
  return Math.max(1, Math.trunc(Number(param('page') ?? 1)) || 1);
}

interface PagesProps {
  readonly page: number;
  /** How many rows a page has. */
  readonly size: number;
  readonly count: number;
  readonly of: string;
}

/** Links to the pages before and after, if there are several. */
export function Pages({ page, size, count, of }: PagesProps): JSX.Element | null {
  const pages = Math.ceil(count / size);
  if (pages <= 1) return null;
  const first = (page - 1) * size + 1;
  return (
    <nav class="pages" aria-label={`Pages of ${of}`}>
      {page > 1 ? <Link href={changed({ page: page === 2 ? undefined : String(page - 1) })}>Previous</Link> : <span />}
      <span class="muted">
        {first} to {Math.min(count, first + size - 1)} of {count}
      </span>
      {page < pages ? <Link href={changed({ page: String(page + 1) })}>Next</Link> : <span />}
    </nav>
  );
}
