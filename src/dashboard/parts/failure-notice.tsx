import type { JSX } from 'preact';
import type { Failure } from '../data/api';
import { HelpLink } from './help-link';
import { topicOfError } from '../data/help-topics';
import { LoginLink, Notice, sentence } from './parts';

/** The first load failed, so that there is nothing to show. */
export function FailureNotice({ failure, what }: { readonly failure: Failure; readonly what: string }): JSX.Element {
  const isLogin = failure.status === 401;
  return (
    <Notice title={isLogin ? 'You are not logged in' : `${what} cannot be shown`} tone="bad">
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
export function FailureLine({
  failure,
  before = '',
}: {
  readonly failure: Failure;
  readonly before?: string;
}): JSX.Element {
  return (
    <p class="problem foreign" role="status">
      {sentence(`${before}${failure.detail}`)} <HelpLink topic={topicOfError(failure.code)} />
    </p>
  );
}
