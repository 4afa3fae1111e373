import type { JSX } from 'preact';
import { HelpLink } from './help-link';
import { Notice, sentence } from './parts';

/** What storage holds that cronlease cannot read; nothing if it can read all. */
export function ProblemsNotice({ problems }: { readonly problems: readonly string[] }): JSX.Element | null {
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
