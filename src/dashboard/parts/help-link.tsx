import type { JSX } from 'preact';
import { pageOf } from '../data/address';
import { anchorOf } from '../data/help-topics';
import { Link } from './parts';

interface HelpLinkProps {
  /** A name that the help page explains. Of one that it does not explain, there is no link. */
  readonly topic: string | undefined;
  readonly class?: string;
  readonly children?: JSX.Element | string;
}

/** Leads to what to do about an outcome, a reason or an error. Around text, that text is the link. */
export function HelpLink({ topic, children, ...rest }: HelpLinkProps) {
  const anchor = anchorOf(topic);
  if (anchor === undefined) return children === undefined ? null : <>{children}</>;
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
