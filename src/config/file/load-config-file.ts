import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { ExtensionSet } from '../../extensions/extension-set.ts';
import type { SourceEntry } from '../../extensions/source.ts';
import { OWN_EXTENSIONS } from '../../packages.ts';
import { type Lane, toLanes } from '../settings/lanes.ts';
import { type ConfigFile, createConfigSchema } from './config-file.ts';
import { type ConfigText, expandVariables, type Variables } from './expand-variables.ts';
import { describeIssues, type Mistake, type TextPlace, toMistakeLines, type ValuePath, valueAt } from './mistakes.ts';

export type ConfigContent = {
  /** In the order of the sections, then of the file; those that are switched off included. */
  readonly upstreams: readonly (SourceEntry & { readonly section: string })[];
  readonly tools: ReadonlyMap<string, ConfigFile['tools'][string]>;
  /** As they are at the start: a change of them needs a restart. */
  readonly lanes: readonly Lane[];
  readonly webhooks: ReadonlyMap<string, ConfigFile['webhooks'][string]>;
};

/** `texts`: of what could be read, right or wrong, for what is secret in it. */
export type LoadedConfig = { readonly texts: readonly ConfigText[] } & (
  | { readonly ok: true; readonly content: ConfigContent }
  | { readonly ok: false; readonly mistakes: readonly string[] }
);

/** `file`: as people call it. */
export type LoadOptions = { readonly file: string; readonly text: string; readonly environment: Variables };

/**
 * Makes what reads configuration files where there are these extensions. It gives what a file says, or every mistake in it
 * at once, one line each, and never throws.
 */
export const createLoadConfigFile = async (extensions: ExtensionSet = OWN_EXTENSIONS) => {
  const { schema, sections } = await createConfigSchema(extensions);
  return ({ file, text, environment }: LoadOptions): LoadedConfig => {
    const parsed = parseConfigText(text);
    const refuse = (mistakes: readonly Mistake[], texts: readonly ConfigText[]): LoadedConfig => ({
      ok: false,
      texts,
      mistakes: toMistakeLines(file, mistakes),
    });
    if (parsed.mistakes.length > 0) return refuse(parsed.mistakes, []);
    if (parsed.value === null) return refuse([EMPTY], []);
    const { value, texts, mistakes: unset } = expandVariables(parsed.value, environment);
    const given = withoutBlanks(value);
    const checked = schema.safeParse(given);
    const wrong = checked.success ? [] : describeIssues(schema, given, checked.error.issues);
    const problems = [...unset, ...wrong].map((problem) => ({ ...problem, place: parsed.placeOf(problem.path) }));
    if (!checked.success || problems.length > 0) return refuse(withoutEchoes(problems), texts);
    const { tools, lanes, webhooks } = checked.data;
    const maps = { tools: new Map(Object.entries(tools)), webhooks: new Map(Object.entries(webhooks)) };
    const upstreams = [...sections].flatMap(([section, entries]) =>
      entries.parse(valueAt(given, [section])).map((entry) => ({ ...entry, section })),
    );
    return { ok: true, texts, content: { upstreams, ...maps, lanes: toLanes(lanes) } };
  };
};

// A file that was cut short must not switch everything off: what is meant to be nothing says so.
const EMPTY: Mistake = { path: [], problem: 'is empty: write {} for an empty configuration', place: null };

/** A section with nothing below it but comments is an empty one. */
const withoutBlanks = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, section]) => section !== null));
};

/** Of one place the first mistake: an unset variable may be no URL either. */
const withoutEchoes = (mistakes: readonly Mistake[]): readonly Mistake[] => {
  const places = new Set<string>();
  return mistakes.filter(({ path }) => {
    const key = JSON.stringify(path);
    if (places.has(key)) return false;
    places.add(key);
    return true;
  });
};

type ParsedConfigText = {
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
const parseConfigText = (text: string): ParsedConfigText => {
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
  const walk: Walk = { document, offsets: new Map(), mistakes: [], nodes: 0 };
  const value = toValue(document.contents, [], walk);
  const placeOf = (path: ValuePath): TextPlace | null => {
    const offset = walk.offsets.get(toKey(path));
    if (offset !== undefined) return placeAt(offset);
    return path.length === 0 ? null : placeOf(path.slice(0, -1));
  };
  return { value, mistakes: walk.mistakes.map((mistake) => ({ ...mistake, place: placeOf(mistake.path) })), placeOf };
};

const toKey = (path: ValuePath): string => JSON.stringify(path);

type Walk = {
  readonly document: Document.Parsed;
  readonly offsets: Map<string, number>;
  readonly mistakes: { readonly path: ValuePath; readonly problem: string }[];
  nodes: number;
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

const NO_TARGET = 'is an alias of an anchor that is not defined above it';

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
