import { fileURLToPath } from 'node:url';
import { isOwnSource } from './tool-imports.ts';

/** A place in a source file: an absolute path, and line and column, both counted from 1. */
export type SourcePlace = { readonly path: string; readonly line: number; readonly column: number };

const FRAME = /(?:\(|^\s*at (?:async )?)((?:file:\/\/)?\/[^\n]*?)(?:\?[^:\n]*)?:(\d+):(\d+)\)?$/;
// Where a module's own code begins: what is below belongs to whoever loads it.
const LOADER = /\(?node:internal\/modules\//;
// Of a syntax error V8 and the type stripper write the place above the message: `file:///a.ts:3`, the line, and a caret.
const HEAD = /^((?:file:\/\/)?\/[^\n]*?)(?:\?[^:\n]*)?:(\d+)\n/;
const CARET = /^[ \t]*(?=\^+[ \t]*$)/m;

/** The places of a stack that lie in a directory, the innermost first, up to the module that was being loaded. */
export const findPlaces = (stack: string, root: string): readonly SourcePlace[] => {
  const places: SourcePlace[] = [];
  for (const line of stack.split('\n')) {
    if (LOADER.test(line)) break;
    const place = toPlace(FRAME.exec(line));
    if (place !== null && isOwnSource(place.path, root)) places.push(place);
  }
  return places;
};

/** The place that stands above the message of a syntax error; null where none does, or it lies outside of the directory. */
export const findPlaceOfSyntax = (stack: string, root: string): SourcePlace | null => {
  const head = HEAD.exec(stack);
  if (head === null) return null;
  const caret = CARET.exec(stack);
  const place = toPlace([...head, String((caret?.[0].length ?? 0) + 1)]);
  return place !== null && isOwnSource(place.path, root) ? place : null;
};

const toPlace = (found: readonly (string | undefined)[] | null): SourcePlace | null => {
  if (found === null) return null;
  const [, url = '', line = '1', column = '1'] = found;
  const path = url.startsWith('file:') ? toPath(url) : url;
  return path === null ? null : { path, line: Number(line), column: Number(column) };
};

const toPath = (url: string): string | null => (URL.canParse(url) ? fileURLToPath(url) : null);
