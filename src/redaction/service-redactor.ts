import { JsonSchema, type ToolDescription } from '../contract/tool-description.ts';
import type { RedactedIn, Redactor, SentText } from '../executor/redactor.ts';
import { cutText, LOOKAHEAD } from '../tools/describe-value.ts';
import { type Found, findShapes, mayContainShape, replaceFound } from './find-shapes.ts';
import { IS_OWN_OF_NONE, type IsOwn, isOwnOfLog, isOwnOfResult, isOwnOfSchema, redactJson } from './redact-json.ts';
import { listSecretForms, RegisteredFinder } from './registered-values.ts';

/** The redactor of the whole service: beside calls, it serves the catalogue of tools, the log and those who know secrets. */
export type ServiceRedactor = Redactor & {
  /** A JSON Schema without registered values. Its keywords stay. */
  readonly schema: (json: string, place: RedactedIn) => string;
  /** A line of the log, a JSON text, each of its strings as `cut` to 2,000 characters. What the service itself says stays. */
  readonly log: (line: string) => string;
  /** Registers more values; those before stay. From now on no text shows them. */
  readonly register: (secrets: readonly string[]) => void;
};

type Redact = (text: string) => string;
type Find = (text: string) => readonly Found[];

// No string of a line of the log is longer.
const MAX_LOG_TEXT = 2000;

/** Makes a redactor. `secrets` are registered. Without registered values `said`, `value`, `schema` and `holds` look at nothing. */
export const createRedactor = ({
  secrets,
  onRedacted = () => undefined,
}: {
  readonly secrets: readonly string[];
  readonly onRedacted?: (place: RedactedIn) => void;
}): ServiceRedactor => {
  // Each form of a registered value → the value it is a form of.
  const forms = new Map<string, number>();
  let values = 0;
  let finder: RegisteredFinder | null = null;
  const findRegistered: Find = (text) => finder?.find(text) ?? [];
  // A registered value goes before the shape that it has: sorting keeps this order.
  const findAny: Find = (text) => [...findRegistered(text), ...findShapes(text)];
  const containsSecret = (text: string): boolean => finder?.isIn(text) ?? false;
  /** Without the registered values that the caller sent itself. */
  const unlessSent = (find: Find, sent: SentText | undefined): Find => {
    if (sent === undefined) return find;
    return (text) => {
      const found = find(text);
      if (found.length === 0) return found;
      const sentValues = new Set(findRegistered(sent()).map(({ secret }) => secret));
      return found.filter(({ secret }) => secret === null || !sentValues.has(secret));
    };
  };
  const cut = (text: string, limit: number, place: RedactedIn, find: Find): string => {
    const { redacted, found } = attempt(() => cutFound(text, limit, find), FAILED_CUT);
    if (found) onRedacted(place);
    return redacted;
  };
  const counted = (json: string, redact: Redact, place: RedactedIn, lost: string): string => {
    const redacted = attempt(() => redact(json), lost);
    if (redacted !== json) onRedacted(place);
    return redacted;
  };
  const register = (secrets: readonly string[]): void => {
    const before = forms.size;
    for (const ofValue of secrets.flatMap(listSecretForms)) {
      values += 1;
      for (const form of ofValue) forms.set(form, forms.get(form) ?? values);
    }
    if (forms.size > before) finder = new RegisteredFinder(forms);
    // What the first text would wait for is done now.
    findAny(secrets.join('\n'));
  };
  register(secrets);
  const redactLine: Redact = (line) => {
    if (line.length <= MAX_LOG_TEXT && !mayContainShape(line) && !containsSecret(line)) return line;
    // A line of the log is here as a whole, so all of a text is in view.
    const cutText: Redact = (text) =>
      attempt(() => cutFound(text, MAX_LOG_TEXT, findAny, text.length), FAILED_CUT).redacted;
    return redactJson(line, cutText, isOwnOfLog);
  };
  const redactValue =
    (isSpared: IsOwn, sent?: SentText): Redact =>
    (json) => {
      if (!containsSecret(json)) return json;
      const find = unlessSent(findRegistered, sent);
      return redactJson(json, (text) => attempt(() => replaceFound(text, find(text)), '[redacted]'), isSpared);
    };
  return {
    text: (text, place, sent) => cut(text, Number.POSITIVE_INFINITY, place, unlessSent(findAny, sent)),
    cut: (text, limit, place, sent) => cut(text, limit, place, unlessSent(findAny, sent)),
    cutToolText: (text, limit, place, sent) => cut(text, limit, place, unlessSent(findRegistered, sent)),
    value: (json, place, sent) =>
      finder === null ? json : counted(json, redactValue(IS_OWN_OF_NONE, sent), place, '"[redacted]"'),
    result: (json, place, sent) =>
      finder === null ? json : counted(json, redactValue(isOwnOfResult, sent), place, '"[redacted]"'),
    schema: (json, place) => counted(json, redactValue(isOwnOfSchema), place, '{}'),
    log: (line) => counted(line, redactLine, 'log', FAILED_LINE),
    containsSecret: containsSecret,
    mayContainSecret: (text) => mayContainShape(text) || containsSecret(text),
    register,
  };
};

const FAILED_CUT = { redacted: '[redacted]', found: true } as const;
const FAILED_LINE = '{"level":50,"msg":"[redacted]"}\n';

/** Total. The message of an error may hold what was looked for, so it is dropped: that a text was redacted is counted. */
const attempt = <Result>(redact: () => Result, lost: Result): Result => {
  try {
    return redact();
  } catch (_unsaid) {
    return lost;
  }
};

/**
 * Where it has to be cut, `limit` characters of the text itself are shown: what is replaced by less makes no room for what
 * stood further on, whose secrets may reach out of view. `found`: whether something was replaced.
 */
const cutFound = (text: string, limit: number, find: Find, view = limit + LOOKAHEAD) => {
  const found = find(text.length <= limit ? text : text.slice(0, view));
  if (text.length <= limit && found.length === 0) return { redacted: text, found: false };
  const shown = found.filter(({ start }) => start < limit);
  const end = shown.reduce((last, one) => Math.max(last, one.end), Math.min(limit, text.length));
  const redacted = replaceFound(text.slice(0, end), shown);
  return { redacted: cutText(end < text.length ? `${redacted}…` : redacted, limit), found: shown.length > 0 };
};

// Why a file cannot be loaded is the text of a failure, and may be of any length.
const MAX_REASON = 2000;

/**
 * The catalogue without secrets: what a tool says of itself it may have put together from its environment. Its name stays
 * as it is, for it is called by it.
 */
export const redactCatalogue = (
  describe: () => readonly ToolDescription[],
  redactor: ServiceRedactor,
): (() => readonly ToolDescription[]) => {
  let latest: { readonly whole: readonly ToolDescription[]; readonly shown: readonly ToolDescription[] } | null = null;
  return () => {
    const whole = describe();
    if (latest?.whole !== whole) latest = { whole, shown: whole.map((tool) => redactDescription(tool, redactor)) };
    return latest.shown;
  };
};

const redactDescription = (tool: ToolDescription, redactor: ServiceRedactor): ToolDescription => {
  const { unavailable_reason: unavailable, outdated_reason: outdated, output_schema: output } = tool;
  const redactSchema = (schema: JsonSchema): JsonSchema => {
    const json = JSON.stringify(schema);
    const redacted = redactor.schema(json, 'result');
    return redacted === json ? schema : JsonSchema.parse(JSON.parse(redacted));
  };
  return {
    ...tool,
    description: redactor.cutToolText(tool.description, Number.POSITIVE_INFINITY, 'result'),
    input_schema: redactSchema(tool.input_schema),
    output_schema: output === null ? null : redactSchema(output),
    unavailable_reason: unavailable === null ? null : redactor.cut(unavailable, MAX_REASON, 'result'),
    ...(outdated === undefined ? {} : { outdated_reason: redactor.cut(outdated, MAX_REASON, 'result') }),
  };
};
