import { findNearestNames } from '../../contract/nearest-names.ts';
import { isSentinelUrl, parseSentinelUrl } from '../../sessions/redis-url.ts';

/** A value as it was given, and what was expected of it. */
export type GivenValue = {
  readonly setting: string;
  readonly value: string;
  /** Values of a closed list; empty where there is none. */
  readonly words: readonly string[];
};

/**
 * What to write instead of a value that is not accepted, as `: write PORT=8080`; "" where that cannot be told. Values that
 * may be secret are not repeated.
 */
export const toValueHint = (given: GivenValue): string => {
  for (const find of HINTS) {
    const hint = find(given);
    if (hint !== null) return `: ${hint}`;
  }
  return '';
};

const ofQuotes = ({ value }: GivenValue): string | null =>
  /^(["'])(?:.*)\1$/.test(value) ? 'the quotes are part of the value; remove them' : null;

const ofRedis = ({ setting, value }: GivenValue): string | null => {
  if (setting !== 'REDIS_URL') return null;
  if (isSentinelUrl(value)) return ofSentinels(value);
  // A user name and a password may stand before an @.
  if (value.includes('@')) return value.includes('://') ? null : 'write redis:// before it';
  if (/^[\w.-]+(?::\d+)?(?:\/\d+)?$/.test(value)) return `'${value}' has no scheme; write redis://${value}`;
  const scheme = /^(?:https?|tcp):\/\/([\w.-]+(?::\d+)?)\/?$/.exec(value);
  return scheme === null ? null : `write redis://${scheme[1]}`;
};

const ofSentinels = (value: string): string | null => {
  const read = parseSentinelUrl(value);
  return 'mistake' in read ? read.mistake : null;
};

const ofPort = ({ setting, value }: GivenValue): string | null => {
  if (!setting.endsWith('PORT')) return null;
  if (/^tcp:\/\//.test(value))
    return `Kubernetes sets '${value.slice(0, 40)}' for a Service of that name; set enableServiceLinks: false, or rename the Service`;
  const port = /^(\d{1,5})\/(?:tcp|udp)$/.exec(value) ?? /^[^@]*:(\d{1,5})$/.exec(value);
  return port === null ? null : `write ${setting}=${port[1]}`;
};

const MILLISECONDS = { ms: 1, s: 1000, sec: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const BYTES = { b: 1, k: 1024, kb: 1024, kib: 1024, m: 1_048_576, mb: 1_048_576, mib: 1_048_576 } as const;
const LARGE_BYTES = { g: 1_073_741_824, gb: 1_073_741_824, gib: 1_073_741_824 } as const;

/** The unit that a setting counts in, by its name. */
const unitOf = (setting: string): { readonly units: Readonly<Record<string, number>>; readonly of: number } | null => {
  if (setting.endsWith('_MS')) return { units: MILLISECONDS, of: 1 };
  if (setting.endsWith('_SECONDS')) return { units: MILLISECONDS, of: 1000 };
  if (setting.endsWith('_BYTES')) return { units: { ...BYTES, ...LARGE_BYTES }, of: 1 };
  return setting.endsWith('_MB') ? { units: { ...BYTES, ...LARGE_BYTES }, of: 1_048_576 } : null;
};

const ofUnit = ({ setting, value }: GivenValue): string | null => {
  const written = /^(\d{1,12}(?:\.\d{1,3})?)\s*([a-z]{1,3})$/i.exec(value);
  const unit = unitOf(setting);
  if (written === null || unit === null) return null;
  const size = unit.units[(written[2] ?? '').toLowerCase()];
  const amount = (Number(written[1]) * (size ?? 0)) / unit.of;
  return size !== undefined && Number.isSafeInteger(amount) && amount > 0 ? `write ${setting}=${amount}` : null;
};

const YES = /^(?:yes|y|on|enabled?)$/i;
const NO = /^(?:no|n|off|disabled?|none)$/i;

const ofWord = ({ value, words }: GivenValue): string | null => {
  const items = value.split(',').map((item) => item.trim());
  const wrong = items.find((item) => item !== '' && !words.includes(item));
  if (words.length === 0 || wrong === undefined) return null;
  if (words.includes('true') && YES.test(wrong)) return 'write true';
  if (words.includes('false') && NO.test(wrong)) return 'write false';
  const meant = findNearestNames(wrong, words, 1)[0] ?? words.find((word) => isStart(word, wrong.toLowerCase()));
  const shown = `'${wrong.slice(0, 40)}' is not allowed`;
  return meant === undefined ? shown : `${shown}; did you mean '${meant}'?`;
};

const isStart = (word: string, wrong: string): boolean =>
  wrong.length > 2 && (wrong.startsWith(word) || word.startsWith(wrong));

const ofAddress = ({ setting, value }: GivenValue): string | null =>
  /^(?:OTEL_EXPORTER_OTLP_ENDPOINT|JWT_JWKS_URL|[A-Z_]+_API_URL)$/.test(setting) &&
  /^[\w.-]+(?::\d+)?(?:\/[\w./-]*)?$/.test(value)
    ? `'${value}' has no scheme; write http://${value} or https://${value}`
    : null;

const ofOrigin = ({ setting, value }: GivenValue): string | null => {
  if (setting !== 'ALLOWED_ORIGINS') return null;
  const wrong = value.split(',').find((item) => !/^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(item.trim()));
  const host = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([\w.:-]+)(?:\/\S*)?$/i.exec(wrong?.trim() ?? '');
  return host === null ? null : `write ${host[1] ?? 'https'}://${host[2]}`;
};

const ofRate = ({ setting, value }: GivenValue): string | null =>
  setting === 'RATE_LIMIT' && /^\d+$/.test(value) ? `write ${value}/m for a minute, ${value}/s for a second` : null;

const ofSpaces = ({ setting, value }: GivenValue): string | null =>
  /^TOOLS_ENV|^TOOLS_PERMISSIONS$|^SECRETS_ENV$/.test(setting) && /^\S+(?:\s+[^\s,]+)+$/.test(value.trim())
    ? 'put commas between the names'
    : null;

const HINTS = [ofQuotes, ofRedis, ofPort, ofUnit, ofWord, ofAddress, ofOrigin, ofRate, ofSpaces];
