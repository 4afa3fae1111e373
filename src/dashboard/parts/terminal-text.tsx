import Anser from 'anser';
import type { JSX } from 'preact';

/** The colours that have a class in style.css. */
const COLORS = /^ansi-(bright-)?(black|red|green|yellow|blue|magenta|cyan|white)$/;

/** Text with terminal colours: as text in elements with classes, whatever it contains. */
export function TerminalText({ text }: { readonly text: string }): JSX.Element {
  if (!text.includes('\u001B')) return <>{text}</>;
  const parts = Anser.ansiToJson(text, { json: true, use_classes: true, remove_empty: true });
  return (
    <>
      {parts.map(({ content, fg, decorations }, index) => (
        <span
          key={index}
          class={[COLORS.test(fg ?? '') ? fg : '', decorations.includes('bold') ? 'bold' : ''].join(' ')}
        >
          {content}
        </span>
      ))}
    </>
  );
}
