import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { fragment } from '../data/address';
import { HELP, type HelpBlock, type HelpPiece } from '../help-content';
import { helpHref } from '../parts/help-link';
import { Link } from '../parts/parts';

type Heading = HelpBlock & { readonly kind: 'heading' };

/** The page for the person on call. It is part of the app, so that it needs no internet. */
export function HelpPage(): JSX.Element {
  const anchor = fragment.value;
  useEffect(() => {
    const heading = anchor === '' ? null : document.getElementById(anchor);
    heading?.scrollIntoView();
    heading?.focus();
  }, [anchor]);
  return (
    <div class="help">
      <Topics />
      <article>
        {HELP.map((block, index) => (
          <Block key={index} block={block} chosen={anchor} />
        ))}
      </article>
    </div>
  );
}

function Topics(): JSX.Element {
  const headings = HELP.filter((block): block is Heading => block.kind === 'heading' && block.level > 1);
  return (
    <nav class="topics" aria-label="Topics">
      {headings.map(({ level, anchor, pieces }) => (
        <Link key={anchor} href={helpHref(anchor)} class={level === 2 ? 'part' : ''}>
          {pieces.map(({ text }) => text).join('')}
        </Link>
      ))}
    </nav>
  );
}

function Block({ block, chosen }: { readonly block: HelpBlock; readonly chosen: string }): JSX.Element {
  switch (block.kind) {
    case 'heading': {
      const { level, anchor, pieces } = block;
      const Name = level === 1 ? 'h1' : level === 2 ? 'h2' : 'h3';
      return (
        <Name id={anchor} tabIndex={-1} class={anchor === chosen ? 'chosen' : ''}>
          <Pieces pieces={pieces} />
        </Name>
      );
    }
    case 'text':
      return (
        <p>
          <Pieces pieces={block.pieces} />
        </p>
      );
    case 'list':
      return (
        <ul>
          {block.items.map((pieces, index) => (
            <li key={index}>
              <Pieces pieces={pieces} />
            </li>
          ))}
        </ul>
      );
  }
}

function Pieces({ pieces }: { readonly pieces: readonly HelpPiece[] }): JSX.Element {
  return (
    <>
      {pieces.map(({ text, as, anchor }, index) =>
        anchor !== undefined ? (
          <Link key={index} href={helpHref(anchor)}>
            {text}
          </Link>
        ) : as === 'code' ? (
          <code key={index}>{text}</code>
        ) : as === 'strong' ? (
          <b key={index}>{text}</b>
        ) : (
          text
        ),
      )}
    </>
  );
}
