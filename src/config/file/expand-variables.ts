import type { ValuePath } from './mistakes.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

/** A text of the file with its variables in place, and what they were. */
export type ConfigText = {
  readonly path: ValuePath;
  readonly text: string;
  readonly variables: readonly { readonly name: string; readonly value: string }[];
};

export type Expanded = {
  readonly value: unknown;
  /** Every text of the file, in its order. */
  readonly texts: readonly ConfigText[];
  readonly mistakes: readonly { readonly path: ValuePath; readonly problem: string }[];
};

/**
 * Puts variables into the texts of a file, not into names: `${NAME}` and `${env:NAME}`, `${NAME:-default}` where NAME is
 * unset or empty, and `$${` for the signs `${` themselves. In an MCP server's other members its own `env` counts too, as
 * in the program that gets both.
 */
export const expandVariables = (value: unknown, environment: Variables): Expanded => {
  const walk: Walk = { texts: [], mistakes: [] };
  return { value: expand(value, [], environment, walk), ...walk };
};

type Walk = { readonly texts: ConfigText[]; readonly mistakes: { path: ValuePath; problem: string }[] };

const expand = (value: unknown, path: ValuePath, variables: Variables, walk: Walk): unknown => {
  if (typeof value === 'string') return expandText(value, path, variables, walk);
  if (Array.isArray(value)) return value.map((item: unknown, place) => expand(item, [...path, place], variables, walk));
  if (typeof value !== 'object' || value === null) return value;
  return path.length === 2 && path[0] === 'mcpServers'
    ? expandServer(value, path, variables, walk)
    : expandMembers(value, path, () => variables, walk);
};

const expandMembers = (
  value: object,
  path: ValuePath,
  variablesOf: (member: string) => Variables,
  walk: Walk,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(value).map(([member, inner]: [string, unknown]) => [
      member,
      expand(inner, [...path, member], variablesOf(member), walk),
    ]),
  );

const expandServer = (server: object, path: ValuePath, variables: Variables, walk: Walk): unknown => {
  const env: unknown = Reflect.get(server, 'env');
  // Asked for the values alone: they are told of where they stand.
  const own = expand(env, [...path, 'env'], variables, { texts: [], mistakes: [] });
  const both = { ...variables, ...toTexts(own) };
  return expandMembers(server, path, (member) => (member === 'env' ? variables : both), walk);
};

const toTexts = (value: unknown): Variables =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === 'string'))
    : {};

const REFERENCE =
  /\$\$\{|\$\{(?:env:)?([A-Za-z_]\w*)(?::-((?:(?!\$\{)[^}])*))?\}|\$\{(?:(input|command|config|workspaceFolder):[^}]*|\/)\}|\$\{/g;

const expandText = (written: string, path: ValuePath, variables: Variables, walk: Walk): string => {
  const used: { readonly name: string; readonly value: string }[] = [];
  const text = written.replace(REFERENCE, (found: string, name?: string, standard?: string, kind?: string) => {
    if (found === '$${') return '${';
    if (name === undefined) {
      walk.mistakes.push({ path, problem: toNoReference(found, kind) });
      return '';
    }
    const value = findVariable(variables, name);
    if (value !== null) used.push({ name, value });
    else if (standard === undefined) walk.mistakes.push({ path, problem: toUnset(name) });
    return value ?? standard ?? '';
  });
  walk.texts.push({ path, text, variables: used });
  return text;
};

/** An empty variable is an unset one, as everywhere in the settings. */
const findVariable = (variables: Variables, name: string): string | null => {
  const value = Object.hasOwn(variables, name) ? (variables[name] ?? '') : '';
  return value === '' ? null : value;
};

/** What other MCP hosts put in place themselves. */
const FOREIGN: ReadonlySet<string> = new Set([
  ...['workspaceFolder', 'workspaceFolderBasename', 'workspaceRoot', 'userHome', 'cwd', 'pathSeparator', 'execPath'],
  ...['file', 'fileBasename', 'fileDirname', 'relativeFile', '__dirname', 'extensionPath'],
]);

const toUnset = (name: string): string =>
  FOREIGN.has(name) ? toForeign(`\${${name}}`) : `needs the environment variable ${name}, which is not set`;

const toNoReference = (found: string, kind: string | undefined): string => {
  if (kind !== undefined) return toForeign(`\${${kind}:…}`);
  return found === '${' ? NO_REFERENCE : toForeign(found);
};

const toForeign = (shown: string): string =>
  `has ${shown}, a variable that only another host defines: write the value, or an environment variable`;

const NO_REFERENCE =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it says how people write variables.
  'has a ${ that does not begin a variable: write ${NAME} or ${NAME:-default}, or $${ for a literal ${';
