import type { Failure } from '../data/api';
import { HelpLink } from './help-link';
import { topicOfError } from '../data/help-topics';
import { LoginLink, Notice, sentence, Skeleton } from './parts';

interface NotYetProps {
  /** Undefined: the first answer is on its way. */
  readonly failure: Failure | undefined;
  /** Such as `jobs`. */
  readonly what: string;
  /** How many rows stand in their place meanwhile. */
  readonly rows: number;
}

/** In the place of what has not come yet. */
export function NotYet({ failure, what, rows }: NotYetProps) {
  if (failure === undefined) return <Skeleton rows={rows} what={what} />;
  return <FailureNotice failure={failure} what={what} />;
}

function FailureNotice({ failure, what }: { readonly failure: Failure; readonly what: string }) {
  const isLogin = failure.status === 401;
  return (
    <Notice title={isLogin ? 'You are not logged in' : `The ${what} cannot be shown`} tone="bad">
      <p class="foreign">{sentence(failure.detail)}</p>
      <p class="foreign">Remedy: {failure.remedy}.</p>
      <p>
        <HelpLink topic={topicOfError(failure.code)} />
      </p>
      {isLogin && <LoginLink />}
    </Notice>
  );
}

/** A part of a page could not be read. */
export function FailureLine({ failure, before = '' }: { readonly failure: Failure; readonly before?: string }) {
  return (
    <p class="problem foreign" role="status">
      {sentence(`${before}${failure.detail}`)} <HelpLink topic={topicOfError(failure.code)} />
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
