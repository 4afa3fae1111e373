import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { changed, go, param } from '../data/address';

/** Searches what the page lists. `/` leads to it. */
export function SearchBox({ of }: { readonly of: string }): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select, dialog *');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <input
      ref={box}
      type="search"
      aria-label={`Search ${of}`}
      placeholder={`Search ${of}   /`}
      value={param('q') ?? ''}
      onInput={({ currentTarget: { value } }) =>
        go(changed({ q: value, page: undefined, cursor: undefined }), 'replace')
      }
    />
  );
}
