import { findNearestNames } from '../contract/nearest-names.ts';

/** A variable that is no setting, and the setting that it is near. */
export type MisspelledSetting = { readonly variable: string; readonly meant: string };

// Shorter settings (PORT, HOST, DOCS) have too many neighbours that other programs read.
const LEAST_LETTERS = 6;
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
// What Kubernetes and Docker set for each Service: REDIS_PORT, REDIS_SERVICE_HOST, REDIS_PORT_6379_TCP_ADDR.
const SERVICE_LINK = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)$/;
// Read by Node, npm, CI systems and OpenTelemetry's own libraries.
const FOREIGN = /^(?:NODE|NPM|KUBERNETES|GITHUB|GITLAB|CI|RUNNER|ACTIONS|OTEL|AWS|AZURE|VSCODE|XDG)_/i;

/**
 * Variables of the environment that look like settings of this service and are none: `TOOL_DIR` for `TOOLS_DIR`,
 * `SESSION_TTL` for `SESSION_TTL_SECONDS`. A variable whose setting is given as well is somebody else's, and so are those
 * that `isUsed` says are read under their own name.
 */
export const findMisspelledSettings = (
  environment: Readonly<Record<string, string | undefined>>,
  settings: readonly string[],
  isUsed: (variable: string) => boolean,
): readonly MisspelledSetting[] => {
  const known = new Set(settings);
  const targets = settings.filter((setting) => setting.length >= LEAST_LETTERS && !environment[setting]);
  return Object.keys(environment)
    .filter((variable) => environment[variable] && !known.has(variable) && isCandidate(variable) && !isUsed(variable))
    .flatMap((variable) => {
      const meant = findMeant(variable, targets);
      return meant === null ? [] : [{ variable, meant }];
    })
    .sort((one, other) => (one.variable < other.variable ? -1 : 1));
};

const isCandidate = (variable: string): boolean =>
  variable.length >= LEAST_LETTERS && NAME.test(variable) && !SERVICE_LINK.test(variable) && !FOREIGN.test(variable);

const findMeant = (variable: string, settings: readonly string[]): string | null => {
  const squeezed = squeeze(variable);
  const same = settings.find((setting) => squeeze(setting) === squeezed);
  if (same !== undefined) return same;
  const reach = variable.length >= 8 ? 2 : 1;
  const near = findNearestNames(variable, settings, 1, reach).find(([first]) => first === variable[0]?.toUpperCase());
  return near ?? findByWords(variable.toUpperCase().split('_'), settings);
};

const squeeze = (name: string): string => name.replaceAll('_', '').toUpperCase();

/** The one setting whose words these are: abbreviated, spelled out, without the last one, or with another unit. */
const findByWords = (words: readonly string[], settings: readonly string[]): string | null => {
  if (words.length < 2) return null;
  const matches = settings.filter((setting) => isSameInWords(words, setting.split('_')));
  return matches.length === 1 ? (matches[0] ?? null) : null;
};

const LEAST_STEM = 3;

const isSameInWords = (words: readonly string[], wanted: readonly string[]): boolean => {
  const isLike = (word: string, place: number): boolean => isStem(word, wanted[place] ?? '');
  if (words.length === wanted.length - 1) return words.every((word, place) => word === wanted[place]);
  if (words.length !== wanted.length) return false;
  if (words.every(isLike)) return true;
  const isCounted = LAST_WORDS.has(wanted.at(-1) ?? '');
  return isCounted && words.length > 2 && words.slice(0, -1).every((word, place) => word === wanted[place]);
};

// Units and kinds of files, for which people write others. What ends in another word (GOOGLE_API_KEY) is another thing.
const LAST_WORDS: ReadonlySet<string> = new Set(['MS', 'SECONDS', 'BYTES', 'MB', 'PERCENT', 'PATH', 'FILE']);

const isStem = (one: string, other: string): boolean =>
  one === other ||
  (Math.min(one.length, other.length) >= LEAST_STEM && (one.startsWith(other) || other.startsWith(one)));
