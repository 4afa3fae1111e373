import { Fragment } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Guidance } from '../../core/guide';
import { fragment } from '../data/address';
import { HELP } from '../data/help-topics';
import { Link } from '../parts/parts';
import { HelpLink, helpHref } from '../parts/help';

/** What every outcome, reason, state and error means, and what to do. It is part of the app, so it needs no internet. */
export function HelpPage() {
  const anchor = fragment.value;
  useEffect(() => {
    const heading = anchor === '' ? null : document.getElementById(anchor);
    heading?.scrollIntoView();
    heading?.focus();
  }, [anchor]);
  return (
    <div class="help">
      <nav class="topics" aria-label="Topics">
        {HELP.map(({ title, topics }) => (
          <Fragment key={title}>
            <Link href={helpHref(idOf(title))} class="part">
              {title}
            </Link>
            {topics.map(([name]) => (
              <Link key={name} href={helpHref(idOf(name))}>
                {name}
              </Link>
            ))}
          </Fragment>
        ))}
      </nav>
      <article>
        <h1>What to do</h1>
        <p>
          It is always safe to read, to wait, and to pause a job. Running a due time again is safe if its handler is
          idempotent or writes through its fence. If you take care of a failing job, acknowledge it.
        </p>
        {HELP.map(({ title, own, topics }) => (
          <section key={title}>
            <h2 {...heading(title, anchor)}>{title}</h2>
            {own !== undefined && <Advice guidance={own} />}
            {topics.map(([name, guidance]) => (
              <section key={name}>
                <h3 {...heading(name, anchor)}>{name}</h3>
                <Advice guidance={guidance} />
              </section>
            ))}
          </section>
        ))}
      </article>
    </div>
  );
}

function heading(name: string, chosen: string): { readonly id: string; readonly tabIndex: -1; readonly class: string } {
  const id = idOf(name);
  return { id, tabIndex: -1, class: id === chosen ? 'chosen' : '' };
}

function idOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}

function Advice({ guidance: { meaning, next, remedy } }: { readonly guidance: Guidance }) {
  return (
    <>
      <p>
        <Sentences text={next === undefined ? meaning : `${meaning} ${next}`} />
      </p>
      {remedy !== undefined && (
        <p>
          <b>Do:</b> <Sentences text={remedy} />
        </p>
      )}
    </>
  );
}

/** Names in backticks as code. After "see", they lead to their own part of the page. */
function Sentences({ text }: { readonly text: string }) {
  const pieces = text.split('`');
  return (
    <>
      {pieces.map((piece, index) => {
        if (index % 2 === 0) return piece;
        const name = <code key={index}>{piece}</code>;
        return /\bsee $/i.test(pieces[index - 1] ?? '') ? (
          <HelpLink key={index} topic={piece}>
            {name}
          </HelpLink>
        ) : (
          name
        );
      })}
    </>
  );
}
