import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type * as z from 'zod';
import type { ExtensionSet } from '../../extensions/extension-set.ts';
import type { SourceEntry } from '../../extensions/source.ts';
import { OWN_EXTENSIONS, PACKAGES } from '../../packages.ts';
import { type Lane, toLanes } from '../settings/lanes.ts';
import { LANES, OWN_SECTIONS, TOOLS, VERSION } from './config-file.ts';
import { type ConfigText, expandVariables, type Variables } from './expand-variables.ts';
import { explainIssue, explainUnknown, type Mistake, readMistakes, toPathText, type ValuePath } from './mistakes.ts';

type Webhooks = z.output<Awaited<ReturnType<typeof PACKAGES.webhooks>>['WEBHOOKS']>;
type PolicySchemas = Awaited<ReturnType<typeof PACKAGES.policies>>;

export type ConfigContent = {
  /** In the order of the sections, then of the file; those that are switched off included. */
  readonly upstreams: readonly (SourceEntry & { readonly section: string })[];
  readonly tools: ReadonlyMap<string, z.output<typeof TOOLS>[string]>;
  /** As they are at the start: a change of them needs a restart. */
  readonly lanes: readonly Lane[];
  readonly webhooks: ReadonlyMap<string, Webhooks[string]>;
  readonly rules: z.output<PolicySchemas['RULES']>;
  readonly approvals: z.output<PolicySchemas['APPROVALS']>;
};

/** `texts`: of what could be read, right or wrong, for what is secret in it. */
export type LoadedConfig = { readonly texts: readonly ConfigText[] } & (
  | { readonly ok: true; readonly content: ConfigContent }
  | { readonly ok: false; readonly mistakes: readonly string[] }
);

type LoadOptions = { readonly file: string; readonly text: string; readonly environment: Variables };

/**
 * Makes what reads configuration files where there are these extensions. It gives what a file says, or every mistake in it
 * at once, one line each, and never throws. `file`: as people call it.
 */
export const createLoadConfigFile = async (extensions: ExtensionSet = OWN_EXTENSIONS) => {
  const readSections = await createReadSections(extensions);
  return ({ file, text, environment }: LoadOptions): LoadedConfig => {
    const { document, explainPlace, unreadable } = parseConfigText(text);
    if (unreadable.length > 0)
      return { ok: false, texts: [], mistakes: unreadable.map((problem) => `CONFIG_FILE ${file}${problem}`) };
    // The walk through its values bounds aliases.
    const { value, texts, mistakes } = expandVariables(document.toJS({ maxAliasCount: -1 }), environment);
    const { content, wrong } = readSections(value);
    const all = [...mistakes, ...wrong];
    return all.length === 0
      ? { ok: true, texts, content }
      : { ok: false, texts, mistakes: describeMistakes(file, all, explainPlace) };
  };
};

type Read = { readonly content: ConfigContent; readonly wrong: readonly Mistake[] };

/** Makes what reads the sections of the file, each by its own schema. One that is wrong is empty in `content`. */
const createReadSections = async ({ sources }: ExtensionSet): Promise<(value: unknown) => Read> => {
  const { WEBHOOKS } = await PACKAGES.webhooks();
  const { RULES, APPROVALS } = await PACKAGES.policies();
  const loaded = await Promise.all(
    Object.entries(sources).map(async ([section, load]) => ({ section, schema: await load() })),
  );
  const [version, ...others] = OWN_SECTIONS;
  const names = [version, ...loaded.map(({ section }) => section), ...others];
  return (value) => {
    const wrong = [...findRootMistakes(value, names)];
    const read = <Schema extends z.ZodType>(section: string, schema: Schema): z.output<Schema> | undefined => {
      // With nothing below it but comments, it is an empty one.
      const parsed = schema.safeParse(Reflect.get(Object(value), section) ?? undefined, { error: explainIssue });
      wrong.push(...(parsed.error?.issues ?? []).flatMap((issue) => readMistakes(issue, [section])));
      return parsed.data;
    };
    read('version', VERSION);
    const upstreams = loaded.flatMap(({ section, schema }) =>
      (read(section, schema) ?? []).map((entry) => ({ ...entry, section })),
    );
    const tools = new Map(Object.entries(read('tools', TOOLS) ?? {}));
    const lanes = toLanes(read('lanes', LANES) ?? {});
    const webhooks = new Map(Object.entries(read('webhooks', WEBHOOKS) ?? {}));
    const rules = read('rules', RULES) ?? [];
    const approvals = read('approvals', APPROVALS) ?? { default: {}, rules: [] };
    return { content: { upstreams, tools, lanes, webhooks, rules, approvals }, wrong };
  };
};

const findRootMistakes = (value: unknown, sections: readonly string[]): readonly Mistake[] => {
  // A file that was cut short must not switch everything off: what is meant to be nothing says so.
  if (value === null) return [{ path: [], problem: 'is empty: write {} for an empty configuration' }];
  if (typeof value !== 'object' || Array.isArray(value)) return [{ path: [], problem: 'must be an object' }];
  return Object.keys(value)
    .filter((name) => !sections.includes(name))
    .map((name) => ({ path: [name], problem: explainUnknown(name, sections) }));
};

// Readers mend the first few, or see that the file is the wrong one.
const MAX_MISTAKES = 20;

/** One line for each of the first twenty, and one that counts the others. Of one place the first: an unset variable may be no URL either. */
const describeMistakes = (
  file: string,
  mistakes: readonly Mistake[],
  explainPlace: (path: ValuePath) => string,
): readonly string[] => {
  const byPath = Map.groupBy(mistakes, ({ path }) => JSON.stringify(path));
  const first = [...byPath.values()].flatMap(([mistake]) => mistake ?? []);
  const lines = first.slice(0, MAX_MISTAKES).map(({ path, problem }) => {
    const subject = path.length === 0 ? '' : ` ${toPathText(path)}:`;
    return `CONFIG_FILE ${file}${explainPlace(path)}:${subject} ${problem}`;
  });
  const more = first.length - lines.length;
  return more === 0 ? lines : [...lines, `CONFIG_FILE ${file}: … and ${more} more`];
};

/** Reads YAML 1.2, of which JSON is a part: no tags but its own, no name twice. */
const parseConfigText = (text: string) => {
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
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return ` line ${line}, column ${col}`;
  };
  const troubles = [...document.errors, ...document.warnings].map(({ message, pos }) => ({ message, offset: pos[0] }));
  visit(document, {
    Alias: (_key, alias) => {
      if (alias.resolve(document) === undefined) troubles.push({ message: NO_TARGET, offset: alias.range?.[0] ?? 0 });
    },
  });
  return {
    document,
    unreadable: troubles
      .slice(0, MAX_MISTAKES)
      .map(({ message, offset }) => `${at(offset)}: cannot be read: ${message}`),
    explainPlace: (path: ValuePath): string => {
      const offset = findOffset(document, path);
      return offset === undefined ? '' : at(offset);
    },
  };
};

const NO_TARGET = 'an alias of an anchor that is not defined above it';

/** Where a member begins; where there is none, what it would be in. undefined for the whole file. */
const findOffset = (document: Document.Parsed, path: ValuePath): number | undefined => {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const step of path) {
    const { start, value } = findMember(isAlias(node) ? node.resolve(document) : node, step);
    node = value;
    offset = (isNode(start) ? start.range?.[0] : undefined) ?? offset;
  }
  return offset;
};

/** An item of a list, or a member of an object, and the node at which it begins. */
const findMember = (node: unknown, step: string | number): { readonly start?: unknown; readonly value?: unknown } => {
  if (isSeq(node)) return { start: node.items[Number(step)], value: node.items[Number(step)] };
  const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === step) : undefined;
  return { start: pair?.key, value: pair?.value };
};
