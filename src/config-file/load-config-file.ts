import { ConfigFile } from './config-file.ts';
import { describeIssues } from './describe-issues.ts';
import { type ConfigText, expandVariables, type Variables } from './expand-variables.ts';
import { type Mistake, toMistakeLines } from './mistake.ts';
import { parseConfigText } from './parse-config-text.ts';

/** One entry of `mcpServers` or of `openapi`. */
export type ConfigEntry<Settings> = {
  readonly name: string;
  readonly settings: Settings;
  /** The same as it stands in the file, variables in place: as long as these are equal, the entries are. */
  readonly written: unknown;
};

export type ConfigContent = {
  readonly mcpServers: readonly ConfigEntry<ConfigFile['mcpServers'][string]>[];
  readonly openapi: readonly ConfigEntry<ConfigFile['openapi'][string]>[];
  readonly tools: ReadonlyMap<string, ConfigFile['tools'][string]>;
};

/** `texts`: of what could be read, right or wrong, for what is secret in it. */
export type LoadedConfig = { readonly texts: readonly ConfigText[] } & (
  | { readonly ok: true; readonly content: ConfigContent }
  | { readonly ok: false; readonly mistakes: readonly string[] }
);

export type LoadOptions = {
  /** As people call the file. */
  readonly file: string;
  readonly text: string;
  readonly environment: Variables;
};

/** What a configuration file says, or every mistake in it at once, one line each. Never throws. */
export const loadConfigFile = ({ file, text, environment }: LoadOptions): LoadedConfig => {
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
  const checked = ConfigFile.safeParse(given);
  const wrong = checked.success
    ? []
    : describeIssues({ schema: ConfigFile, value: given, issues: checked.error.issues });
  const problems = [...unset, ...wrong].map((problem) => ({ ...problem, place: parsed.placeOf(problem.path) }));
  if (!checked.success || problems.length > 0) return refuse(withoutEchoes(problems), texts);
  const { mcpServers, openapi, tools } = checked.data;
  const content: ConfigContent = {
    mcpServers: toEntries(mcpServers, given, 'mcpServers'),
    openapi: toEntries(openapi, given, 'openapi'),
    tools: new Map(Object.entries(tools)),
  };
  return { ok: true, texts, content };
};

// A file that was cut short must not switch everything off: what is meant to be nothing says so.
const EMPTY: Mistake = { path: [], problem: 'is empty: write {} if nothing is meant', place: null };

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

const toEntries = <Settings>(
  entries: Readonly<Record<string, Settings>>,
  given: unknown,
  section: string,
): readonly ConfigEntry<Settings>[] => {
  const written = memberOf(given, section);
  return Object.entries(entries).map(([name, settings]) => ({ name, settings, written: memberOf(written, name) }));
};

const memberOf = (value: unknown, member: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, member) : undefined;
