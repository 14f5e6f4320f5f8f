import { findNearestNames } from '../../contract/nearest-names.ts';
import { isSentinelUrl, parseSentinelUrl, SENTINEL_URL_RULE } from '../../sessions/redis-url.ts';

/** A value as it was given, and what was expected of it. */
type SettingValue = {
  readonly setting: string;
  readonly value: string;
  /** Values of a closed list; empty where there is none. */
  readonly allowed: readonly string[];
};

/**
 * What to write instead of a value that is not accepted, as `: write PORT=8080`; "" where that cannot be told. Values that
 * may be secret are not repeated.
 */
export const explainValue = (given: SettingValue): string => {
  for (const find of HINTS) {
    const hint = find(given);
    if (hint !== null) return `: ${hint}`;
  }
  return '';
};

const ofQuotes = ({ value }: SettingValue): string | null =>
  /^(["'])(?:.*)\1$/.test(value) ? 'the quotes are part of the value; remove them' : null;

const ofSentinels = ({ setting, value }: SettingValue): string | null =>
  setting === 'REDIS_URL' && isSentinelUrl(value) && parseSentinelUrl(value) === null ? SENTINEL_URL_RULE : null;

/** An address without a scheme. A user name and a password may stand before an @: then it is not shown. */
const ofScheme = ({ setting, value }: SettingValue): string | null => {
  if (!/_(?:URL|ENDPOINT)$/.test(setting) || !/^[\w.-]+(?::\d+)?(?:\/[\w./-]*)?$/.test(value)) return null;
  return `'${value}' has no scheme; write ${setting === 'REDIS_URL' ? 'redis' : 'http'}://${value}`;
};

const ofPort = ({ setting, value }: SettingValue): string | null => {
  if (!setting.endsWith('PORT')) return null;
  if (/^tcp:\/\//.test(value))
    return `Kubernetes sets '${value.slice(0, 40)}' for a Service of that name; set enableServiceLinks: false, or rename the Service`;
  const [, port] = /^(?:[\w.-]*:)(\d{1,5})$|^(\d{1,5})\/(?:tcp|udp)$/.exec(value)?.filter(Boolean) ?? [];
  return port === undefined ? null : `write ${setting}=${port}`;
};

const TIMES = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZES = { b: 1, k: 1024, kb: 1024, m: 1_048_576, mb: 1_048_576, g: 1_073_741_824, gb: 1_073_741_824 };
/** By the end of a setting's name: the units that people write, and the one that it counts in. */
const UNITS: readonly {
  readonly suffix: RegExp;
  readonly units: Readonly<Record<string, number>>;
  readonly of: number;
}[] = [
  { suffix: /_MS$/, units: TIMES, of: 1 },
  { suffix: /_SECONDS$/, units: TIMES, of: 1000 },
  { suffix: /_BYTES$/, units: SIZES, of: 1 },
  { suffix: /_MB$/, units: SIZES, of: 1_048_576 },
];

const ofUnit = ({ setting, value }: SettingValue): string | null => {
  const [, number, unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?)\s*([a-z]{1,3})$/i.exec(value) ?? [];
  const { units = {}, of = 1 } = UNITS.find(({ suffix: ending }) => ending.test(setting)) ?? {};
  const amount = (Number(number) * (units[unit.toLowerCase().replace('ib', 'b')] ?? 0)) / of;
  return Number.isSafeInteger(amount) && amount > 0 ? `write ${setting}=${amount}` : null;
};

const ofWord = ({ value, allowed: words }: SettingValue): string | null => {
  const wrong = value.split(',').find((item) => item.trim() !== '' && !words.includes(item.trim()));
  // Of a flag the rule names both words.
  if (words.length === 0 || words.includes('true') || wrong === undefined) return null;
  const item = wrong.trim().toLowerCase();
  const meant = findNearestNames(item, words, 1)[0] ?? words.find((word) => item.includes(word));
  const shown = `'${wrong.trim().slice(0, 40)}' is not allowed`;
  return meant === undefined ? shown : `${shown}; did you mean '${meant}'?`;
};

const HINTS = [ofQuotes, ofSentinels, ofScheme, ofPort, ofUnit, ofWord];
