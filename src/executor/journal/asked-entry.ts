import { toCallId } from '../../contract/tool-call.ts';
import { toCanonicalText } from '../../json/canonical-text.ts';
import { parseJson } from '../../json/parse-json.ts';

/** An entry of a batch as it was asked for. */
export type AskedEntry = {
  readonly id: string | number | null;
  readonly name: string | null;
  /** Its arguments as they were given. */
  readonly given: unknown;
};

/** The entry that a value is read as, whatever it is. */
export const toAskedEntry = (entry: unknown): AskedEntry => {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return NOTHING;
  const name: unknown = Reflect.get(entry, 'name');
  return {
    id: toCallId(Reflect.get(entry, 'id')),
    name: typeof name === 'string' ? name : null,
    given: Reflect.get(entry, 'arguments'),
  };
};

const NOTHING: AskedEntry = { id: null, name: null, given: undefined };

/** The entries of a body: those of its member `calls`. */
export const readEntries = (body: string): readonly unknown[] => {
  const parsed = parseJson(body);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return [];
  const calls: unknown = Reflect.get(parsed.value, 'calls');
  return Array.isArray(calls) ? calls : [];
};

/** A body of these entries, which reads as they do; null where they are nested too deep to be written. */
export const toBody = (entries: readonly AskedEntry[]): string | null => {
  const calls = entries.map(({ id, name, given }) => ({ id, name, arguments: given }));
  try {
    return JSON.stringify({ calls });
  } catch (_deep) {
    return null;
  }
};

/** RFC 8785 text of arguments; the raw text where they are not `readable`. */
export const toGivenText = (given: unknown, readable: boolean): string => {
  if (given === undefined || given === null) return '{}';
  if (typeof given !== 'string') return toCanonicalText(given);
  if (!readable) return given;
  const parsed = parseJson(given.trim() === '' ? '{}' : given);
  return parsed.ok ? toCanonicalText(parsed.value) : given;
};
