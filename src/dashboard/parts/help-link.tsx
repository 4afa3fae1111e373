import type { JSX } from 'preact';
import { pageOf } from '../data/address';
import { HELP } from '../help-content';
import { Link } from './parts';

const ANCHORS = new Set(HELP.flatMap((block) => (block.kind === 'heading' ? [block.anchor] : [])));

interface HelpLinkProps {
  /** A heading of docs/how-to/on-call.md. Of one that it does not have, there is no link. */
  readonly topic: string | undefined;
  readonly class?: string;
  readonly children?: JSX.Element | string;
}

/** Leads to what to do about an outcome, a reason or an error. Around text, that text is the link. */
export function HelpLink({ topic, children, ...rest }: HelpLinkProps): JSX.Element | null {
  const anchor = topic?.toLowerCase();
  if (anchor === undefined || !ANCHORS.has(anchor)) return children === undefined ? null : <>{children}</>;
  return (
    <Link href={helpHref(anchor)} {...rest}>
      {children ?? (
        <>
          What to do<span class="visually-hidden"> about {topic}</span>
        </>
      )}
    </Link>
  );
}

export function helpHref(anchor: string): string {
  return `${pageOf({ view: 'help' })}#${anchor}`;
}
