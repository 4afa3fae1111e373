import type { ComponentChildren } from 'preact';
import { pageOf } from '../data/address';
import type { Failure } from '../data/api';
import { anchorOf, topicOfError } from '../data/help-topics';
import { Link, LoginLink, Notice, sentence, Skeleton } from './parts';

interface HelpLinkProps {
  /** A name that the help page explains. Of one that it does not explain, there is no link. */
  readonly topic: string | undefined;
  readonly children?: ComponentChildren;
}

/** Leads to what to do about an outcome, a reason or an error. Around text, that text is the link. */
export function HelpLink({ topic, children }: HelpLinkProps) {
  const anchor = anchorOf(topic);
  if (anchor === undefined) return children === undefined ? null : <>{children}</>;
  return (
    <Link href={helpHref(anchor)}>
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

interface FailureProps {
  readonly failure: Failure;
}

export function FailureHelp({ failure }: FailureProps) {
  return <HelpLink topic={topicOfError(failure.code)} />;
}

interface NotYetProps {
  /** Undefined: the first answer is on its way. */
  readonly failure: Failure | undefined;
  /** Such as `jobs`. */
  readonly what: string;
  /** How many rows stand in their place meanwhile. */
  readonly rows: number;
}

export function NotYet({ failure, what, rows }: NotYetProps) {
  if (failure === undefined) return <Skeleton rows={rows} what={what} />;
  const isLogin = failure.status === 401;
  return (
    <Notice title={isLogin ? 'You are not logged in' : `The ${what} cannot be shown`} tone="bad">
      <p class="foreign">{sentence(failure.detail)}</p>
      <p class="foreign">Remedy: {failure.remedy}.</p>
      <p>
        <FailureHelp failure={failure} />
      </p>
      {isLogin && <LoginLink />}
    </Notice>
  );
}

export function FailureLine({ failure, before = '' }: FailureProps & { readonly before?: string }) {
  return (
    <p class="problem foreign" role="status">
      {sentence(`${before}${failure.detail}`)} <FailureHelp failure={failure} />
    </p>
  );
}

/** What storage holds that cronlease cannot read; nothing if it can read all. */
export function ProblemsNotice({ problems }: { readonly problems: readonly string[] }) {
  if (problems.length === 0) return null;
  return (
    <Notice title="Some of it cannot be read" tone="warn">
      {problems.map((problem) => (
        <p key={problem} class="foreign">
          {sentence(problem)}
        </p>
      ))}
      <p>
        <HelpLink topic="foreignBlob" />
      </p>
    </Notice>
  );
}
