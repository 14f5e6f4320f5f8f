import type { Mistake, ValuePath } from './mistakes.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

/** A text of the file with its variables in place, and what they were. */
export type ConfigText = {
  readonly path: ValuePath;
  readonly text: string;
  readonly variables: readonly { readonly name: string; readonly value: string }[];
};

/** `texts`: every text of the file, in its order. */
type Expanded = {
  readonly value: unknown;
  readonly texts: readonly ConfigText[];
  readonly mistakes: readonly Mistake[];
};

// A file of settings is neither deep nor large; aliases of aliases of aliases are both, and one of itself has no end.
const MAX_DEPTH = 32;
const MAX_VALUES = 50_000;

/**
 * Puts variables into the texts of a file, not into names: `${NAME}` and `${env:NAME}`, `${NAME:-default}` where NAME is
 * unset or empty, and `$${` for the signs `${` themselves. In an MCP server's other members its own `env` counts too, as
 * in the program that gets both. What is too large, too deep, or a name that every object has is a mistake.
 */
export const expandVariables = (value: unknown, environment: Variables): Expanded => {
  const walk: Walk = { texts: [], mistakes: [], values: 0 };
  return { value: expand(value, [], environment, walk), texts: walk.texts, mistakes: walk.mistakes };
};

type Walk = { readonly texts: ConfigText[]; readonly mistakes: Mistake[]; values: number };

const expand = (value: unknown, path: ValuePath, variables: Variables, walk: Walk): unknown => {
  walk.values += 1;
  if (walk.values > MAX_VALUES) return refuse([], 'has too many values', walk);
  if (path.length > MAX_DEPTH) return refuse(path.slice(0, 2), 'is nested too deep', walk);
  if (typeof value === 'string') return expandText(value, path, variables, walk);
  if (Array.isArray(value)) return value.map((item: unknown, place) => expand(item, [...path, place], variables, walk));
  if (typeof value !== 'object' || value === null) return value;
  if (Object.hasOwn(value, '__proto__')) return refuse([...path, '__proto__'], 'cannot be used as a name', walk);
  const inner = path.length === 2 && path[0] === 'mcpServers' ? withOwn(value, variables) : variables;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      name,
      expand(member, [...path, name], name === 'env' ? variables : inner, walk),
    ]),
  );
};

const refuse = (path: ValuePath, problem: string, { mistakes }: Walk): null => {
  mistakes.push({ path, problem });
  return null;
};

/** The variables, and before them the `env` of an MCP server. Its mistakes are reported where `env` itself is expanded. */
const withOwn = (server: object, variables: Variables): Variables => {
  const { texts } = expandVariables(Reflect.get(server, 'env'), variables);
  const own = texts.flatMap(({ path: [name, ...deeper], text }) =>
    deeper.length === 0 ? [[name, text] as const] : [],
  );
  return { ...variables, ...Object.fromEntries(own) };
};

const REFERENCE = /\$\$\{|\$\{(?:env:)?([A-Za-z_]\w*)(?::-((?:(?!\$\{)[^}])*))?\}|\$\{(?:\w+:[^}]*\}|\/\})?/g;

const expandText = (written: string, path: ValuePath, variables: Variables, walk: Walk): string => {
  const used: { readonly name: string; readonly value: string }[] = [];
  const text = written.replace(REFERENCE, (found: string, name?: string, standard?: string) => {
    if (found === '$${') return '${';
    if (name === undefined) return refuse(path, NO_REFERENCE, walk) ?? '';
    const value = findVariable(variables, name);
    if (value !== null) used.push({ name, value });
    else if (standard === undefined) refuse(path, `needs the environment variable ${name}, which is not set`, walk);
    return value ?? standard ?? '';
  });
  walk.texts.push({ path, text, variables: used });
  return text;
};

/** An empty variable is an unset one, as everywhere in the settings. */
const findVariable = (variables: Variables, name: string): string | null =>
  (Object.hasOwn(variables, name) && variables[name]) || null;

const NO_REFERENCE =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it says how people write variables.
  'has a ${ that does not begin a variable: write ${NAME} or ${NAME:-default}, or $${ for a literal ${';
