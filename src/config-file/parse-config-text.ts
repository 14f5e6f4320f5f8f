import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { Mistake, TextPlace, ValuePath } from './mistake.ts';

export type ParsedConfigText = {
  /** Objects, lists, texts, numbers, booleans and null; null for an empty file. */
  readonly value: unknown;
  readonly mistakes: readonly Mistake[];
  /** Where the member stands; where there is none, what it would stand in. */
  readonly placeOf: (path: ValuePath) => TextPlace | null;
};

// A file of settings is neither deep nor large; aliases of aliases of aliases are both.
const MAX_DEPTH = 32;
const MAX_NODES = 50_000;

/** Reads YAML 1.2, of which JSON is a part: no tags but its own, no name twice, aliases as far as they stay small. */
export const parseConfigText = (text: string): ParsedConfigText => {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    stringKeys: true,
    // Less, and a second document would be passed over.
    logLevel: 'error',
    // The pretty ones show what stands in the file.
    prettyErrors: false,
    lineCounter: lines,
  });
  const placeAt = (offset: number): TextPlace => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const troubles = [...document.errors, ...document.warnings].map(
    ({ message, pos }): Mistake => ({ path: [], problem: `cannot be read: ${message}`, place: placeAt(pos[0]) }),
  );
  if (troubles.length > 0) return { value: null, mistakes: troubles, placeOf: () => null };
  const { value, mistakes, offsets } = toPlainValue(document);
  const placeOf = (path: ValuePath): TextPlace | null => {
    const offset = offsets.get(toKey(path));
    if (offset !== undefined) return placeAt(offset);
    return path.length === 0 ? null : placeOf(path.slice(0, -1));
  };
  return { value, mistakes: mistakes.map((mistake) => ({ ...mistake, place: placeOf(mistake.path) })), placeOf };
};

const toKey = (path: ValuePath): string => JSON.stringify(path);

type Walk = {
  readonly document: Document.Parsed;
  readonly offsets: Map<string, number>;
  readonly mistakes: { readonly path: ValuePath; readonly problem: string }[];
  nodes: number;
};

const toPlainValue = (document: Document.Parsed) => {
  const walk: Walk = { document, offsets: new Map(), mistakes: [], nodes: 0 };
  const value = toValue(document.contents, [], walk);
  return { value, mistakes: walk.mistakes, offsets: walk.offsets };
};

const toValue = (node: unknown, path: ValuePath, walk: Walk): unknown => {
  walk.nodes += 1;
  if (walk.nodes > MAX_NODES) return refuse('has too many values', [], walk);
  if (path.length > MAX_DEPTH) return refuse('is nested too deep', path.slice(0, 2), walk);
  if (isAlias(node)) {
    const target: Node | undefined = node.resolve(walk.document);
    return target === undefined ? refuse(NO_TARGET, path, walk) : toValue(target, path, walk);
  }
  if (isMap(node)) return toObject(node.items, path, walk);
  if (isSeq(node)) return node.items.map((item, place) => at(item, item, [...path, place], walk));
  return isScalar(node) ? node.value : null;
};

const NO_TARGET = 'is an alias of something that is not named above it';

const refuse = (problem: string, path: ValuePath, { mistakes }: Walk): null => {
  // Of what is too much there is much.
  if (mistakes.at(-1)?.problem !== problem) mistakes.push({ path, problem });
  return null;
};

const toObject = (
  items: readonly { readonly key: unknown; readonly value: unknown }[],
  path: ValuePath,
  walk: Walk,
): unknown =>
  Object.fromEntries(
    items.map(({ key, value }) => {
      const name = isScalar(key) ? String(key.value) : String(key);
      if (name === '__proto__') walk.mistakes.push({ path: [...path, name], problem: 'cannot be used as a name' });
      return [name, at(key, value, [...path, name], walk)];
    }),
  );

const at = (positioned: unknown, node: unknown, path: ValuePath, walk: Walk): unknown => {
  const offset = isScalar(positioned) || isMap(positioned) || isSeq(positioned) ? positioned.range?.[0] : undefined;
  if (offset !== undefined && walk.nodes <= MAX_NODES) walk.offsets.set(toKey(path), offset);
  return toValue(node, path, walk);
};
