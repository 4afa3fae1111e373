import { SaxesParser } from 'saxes';
import { ImportError } from './draft';

/** An element, without its namespace and attributes. */
export interface Element {
  readonly name: string;
  readonly line: number;
  readonly children: readonly Element[];
  /** Its own text, trimmed. */
  readonly text: string;
}

interface OpenElement {
  readonly name: string;
  readonly line: number;
  readonly children: Element[];
  text: string;
}

/**
 * Reads a small XML file whole.
 * @throws ImportError
 */
export function readXml(file: string, text: string): Element {
  const parser = new SaxesParser({ fileName: file });
  const root: OpenElement = { name: '', line: 1, children: [], text: '' };
  const open: OpenElement[] = [root];
  const add = (part: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += part;
  };
  parser.on('opentag', ({ name }) => {
    const element = { name: name.replace(/^.*:/, ''), line: parser.line, children: [], text: '' };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('text', add);
  parser.on('cdata', add);
  parser.on('closetag', () => {
    const element = open.pop();
    if (element !== undefined) element.text = element.text.trim();
  });
  let failure: ImportError | undefined;
  parser.on('error', (error) => {
    failure ??= new ImportError({ file, line: parser.line }, `this is not XML: ${error.message}`, { cause: error });
  });
  parser.write(text).close();
  if (failure !== undefined) throw failure;
  return root;
}

export function childrenOf(element: Element, ...names: readonly string[]): readonly Element[] {
  const [name, ...rest] = names;
  if (name === undefined) return [element];
  return element.children.filter((child) => child.name === name).flatMap((child) => childrenOf(child, ...rest));
}

/** The text of a child; undefined if it is missing or empty. */
export function textOf(element: Element, name: string): string | undefined {
  const text = element.children.find((child) => child.name === name)?.text;
  return text === '' ? undefined : text;
}
