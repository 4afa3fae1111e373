// Turns docs/how-to/on-call.md into the help page of the dashboard: blocks and pieces of text, which need no HTML.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { marked } from 'marked';

const FILE = path.join(import.meta.dirname, '../docs/how-to/on-call.md');

/** The blocks of the help page, as src/dashboard/help-content.d.ts describes them. */
export function helpBlocks(markdown = readFileSync(FILE, 'utf8')) {
  return marked.lexer(markdown).flatMap(blockOf);
}

function blockOf(token) {
  switch (token.type) {
    case 'space':
      return [];
    case 'heading':
      return [{ kind: 'heading', level: token.depth, anchor: anchorOf(token.text), pieces: piecesOf(token.tokens) }];
    case 'paragraph':
      return [{ kind: 'text', pieces: piecesOf(token.tokens) }];
    case 'list':
      return [
        { kind: 'list', items: token.items.map((item) => item.tokens.flatMap(({ tokens }) => piecesOf(tokens))) },
      ];
    default:
      throw new Error(`docs/how-to/on-call.md: the help page cannot show a ${token.type}: ${token.raw.slice(0, 60)}`);
  }
}

function piecesOf(tokens) {
  return tokens.map((token) => {
    switch (token.type) {
      case 'text':
      case 'escape':
        return { text: token.text };
      case 'codespan':
        return { text: token.text, as: 'code' };
      case 'strong':
        return { text: token.text, as: 'strong' };
      case 'link':
        // Other pages of the documentation are not part of the app: their names stand, and no path of the repository.
        if (token.href.startsWith('#')) return { text: token.text, anchor: token.href.slice(1) };
        return { text: token.text };
      default:
        throw new Error(`docs/how-to/on-call.md: the help page cannot show a ${token.type}: ${token.raw.slice(0, 60)}`);
    }
  });
}

/** As GitHub makes them of headings. */
function anchorOf(text) {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
