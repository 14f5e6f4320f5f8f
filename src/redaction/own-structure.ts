import { FailureDetail, Issue, RetryState, ToolFailure, ToolSuccess, Warning } from '../contract/tool-result.ts';
import type { JsonPlace } from './redact-json.ts';

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
