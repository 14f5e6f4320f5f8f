import { FailureDetail, Issue, RetryState, ToolFailure, ToolSuccess, Warning } from '../contract/tool-result.ts';
import { nestingOf, skipString } from '../json/json-text.ts';
import { parseJson } from '../json/parse-json.ts';

/** A string, a member's name or a number of a JSON text, and where it stands. */
type JsonPlace = {
  readonly kind: 'name' | 'string' | 'number';
  /** The name of the member that it is, or is the name of, or that the array around it is. */
  readonly member: string;
  /** The name of the member of the whole that it is in. */
  readonly top: string;
  /** 1 = of the whole itself. */
  readonly depth: number;
};

/**
 * A JSON text whose strings, names included, and numbers went through `redact`, but for those that are the service's own
 * (`isOwn`). All else of it stays as it is written: large numbers, the order and repetition of names. What it gives is JSON
 * again, whatever was replaced.
 */
export const redactJson = (json: string, redact: (text: string) => string, isOwn: IsOwn): string => {
  const tokens = /["{}[\]]|-?\d[\d.eE+-]*/g;
  const locate = createPlaces(json);
  let redacted = '';
  let from = 0;
  for (let token = tokens.exec(json); token !== null; token = tokens.exec(json)) {
    const [sign] = token;
    if (sign === '"') tokens.lastIndex = skipString(json, token.index + 1);
    const place = locate(sign, token.index, tokens.lastIndex);
    if (place === null || isOwn(place)) continue;
    const written = json.slice(token.index, tokens.lastIndex);
    const instead = redactToken(written, redact);
    if (instead === written) continue;
    redacted += `${json.slice(from, token.index)}${instead}`;
    from = tokens.lastIndex;
  }
  return redacted + json.slice(from);
};

/** Takes each token of a JSON text in turn and says where it stands; null for what only nests others. */
const createPlaces = (json: string) => {
  let depth = 0;
  let member = '';
  let top = '';
  return (sign: string, start: number, end: number): JsonPlace | null => {
    const nesting = nestingOf(sign.charCodeAt(0));
    depth += nesting;
    if (nesting !== 0) return null;
    const kind = kindOf(sign, json, end);
    if (kind === 'name') member = json.slice(start + 1, end - 1);
    if (kind === 'name' && depth === 1) top = member;
    return { kind, member, top, depth };
  };
};

const kindOf = (sign: string, json: string, end: number): JsonPlace['kind'] => {
  if (sign !== '"') return 'number';
  let next = end;
  while (json[next] === ' ' || json[next] === '\n' || json[next] === '\r' || json[next] === '\t') next += 1;
  return json[next] === ':' ? 'name' : 'string';
};

// What stays of a number with a secret in it is no number any more.
const redactToken = (written: string, redact: (text: string) => string): string => {
  const parsed = written.startsWith('"') ? parseJson(written) : null;
  const text = parsed?.ok && typeof parsed.value === 'string' ? parsed.value : written;
  const redacted = redact(text);
  return redacted === text ? written : JSON.stringify(redacted);
};

/** Whether a place is the service's own: its names, its numbers and its words are no secret, and a schema wants them so. */
export type IsOwn = (place: JsonPlace) => boolean;

// Their values are of closed lists, or made by the service alone.
const WORDS: ReadonlySet<string> = new Set([
  ...['outcome', 'executed', 'code', 'fault', 'limited_by', 'scope', 'mode'],
  ...['time', 'fingerprint'],
]);

const NAMES: ReadonlySet<string> = new Set(
  [ToolSuccess, ToolFailure, FailureDetail, Issue, RetryState, Warning].flatMap(({ shape }) => Object.keys(shape)),
);

/** In a kept `ToolResult`: all but its texts and its value. */
export const isOwnOfResult: IsOwn = ({ kind, member, top, depth }) => {
  if (top === 'value' || top === 'id') return kind === 'name' && depth === 1;
  return (kind === 'string' ? WORDS : NAMES).has(member);
};

/** In a line of the log: what stands in it directly. A tool's fields are further inside. */
export const isOwnOfLog: IsOwn = ({ kind, member, depth }) => {
  if (depth !== 1) return false;
  if (kind === 'name') return LOG_NAME.test(member);
  return kind === 'string' ? WORDS.has(member) : member !== 'call_id';
};

// As the service names what it logs; hardly any secret looks so.
const LOG_NAME = /^[a-z]{1,16}(?:_[a-z]{1,16}){0,3}$/;

/** Nothing is: a tool's value. */
export const IS_OWN_OF_NONE: IsOwn = () => false;

// The words of JSON Schema that a secret might be, or be a part of. A schema says nothing without them.
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['$schema', '$defs', '$ref', 'definitions', 'properties', 'patternProperties', 'additionalProperties'],
  ...['unevaluatedProperties', 'propertyNames', 'minProperties', 'maxProperties', 'required', 'dependentRequired'],
  ...['dependentSchemas', 'items', 'prefixItems', 'contains', 'minContains', 'maxContains', 'minItems', 'maxItems'],
  ...['unevaluatedItems', 'uniqueItems', 'exclusiveMinimum', 'exclusiveMaximum', 'minimum', 'maximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'pattern', 'format', 'contentEncoding', 'contentMediaType', 'contentSchema'],
  ...['description', 'examples', 'default', 'deprecated', 'readOnly', 'writeOnly', 'type', 'title', 'const', 'enum'],
  ...['allOf', 'anyOf', 'oneOf', 'additionalItems'],
]);

/** In a JSON Schema: its keywords. */
export const isOwnOfSchema: IsOwn = ({ kind, member }) => kind === 'name' && KEYWORDS.has(member);
