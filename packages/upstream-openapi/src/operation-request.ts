import { randomUUID } from 'node:crypto';
import { ACCEPT_ENCODING } from '@recourse/toolkit-kit/egress/bounded-body';
import type { Hop } from '@recourse/toolkit-kit/egress/redirects';
import { isBelow } from '@recourse/toolkit-kit/egress/redirects';
import type { JsonRecord } from 'recourse-server/contract/json-record';
import type { ToolContext } from 'recourse-server/tools/tool';
import type { ImportMeans } from './import-means.ts';
import type { OperationPlan } from './operation-plan.ts';
import type { Part } from './parameters.ts';
import { writeBody } from './sent-body.ts';
import {
  createArgumentRefusal,
  hasDotSegment,
  type Pair,
  percentEncode,
  toJsonText,
  toPiece,
  writePairs,
  writeText,
} from './written-values.ts';

const USER_AGENT = 'recourse-openapi';

/** The request that a call makes. Rejects with a RetryableToolError where an argument cannot be written. */
export const createOperationRequest = async (
  plan: OperationPlan,
  input: JsonRecord,
  means: ImportMeans,
  context: Pick<ToolContext, 'effects' | 'idempotencyKey' | 'traceparent'>,
): Promise<Hop> => {
  const { credentials } = means;
  // Before a file is read for it: a mistake in the address is reported first.
  const url = createUrl(plan, input, credentials.query);
  const body = plan.body === null ? null : await writeBody(plan.body, plan.fill(input), means);
  const cookie = writeNamed('cookie', plan, input, credentials.cookies).join('; ');
  const key = chooseKey(plan, context);
  const headers = {
    accept: plan.accept,
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': USER_AGENT,
    ...writeHeaders(plan, input),
    ...(context.traceparent === null ? {} : { traceparent: context.traceparent }),
    ...(key === null ? {} : { 'idempotency-key': key }),
    ...(cookie === '' ? {} : { cookie }),
    ...(body === null ? {} : { 'content-type': body.contentType }),
    // Last: nothing that a model sends stands in for what the settings say.
    ...credentials.headers,
  };
  return { url, headers, method: plan.method, ...(body === null ? {} : { body: body.content }) };
};

const chooseKey = (
  plan: OperationPlan,
  { effects, idempotencyKey: key }: Pick<ToolContext, 'effects' | 'idempotencyKey'>,
): string | null => {
  if (plan.idempotencyKey === 'none' || (plan.idempotencyKey === 'of_writes' && effects !== 'write')) return null;
  // One of our own where the API insists: it is new for each call, as the call is.
  return key ?? (plan.idempotencyKey === 'required' ? randomUUID() : null);
};

/** What was sent for a parameter, or stands in where nothing was; undefined where neither is. */
const argumentOf = ({ argument, fallback, content }: Part, input: JsonRecord): unknown => {
  const value = argument !== null && Object.hasOwn(input, argument) ? input[argument] : fallback;
  return content === 'json' && value !== undefined ? toJsonText(value) : value;
};

// RFC 9110, section 5.5. A line end would begin a header of the model's own.
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;

const writeHeaders = ({ parameters }: OperationPlan, input: JsonRecord): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {};
  for (const parameter of parameters) {
    const value = parameter.in === 'header' ? argumentOf(parameter, input) : undefined;
    if (value === undefined || value === null) continue;
    const text = writeText(value, { ...parameter, style: 'simple', encode: (piece) => piece });
    if (!HEADER_TEXT.test(text))
      throw createArgumentRefusal(
        `The parameter '${parameter.argument ?? parameter.name}' is sent in a header and must not contain line breaks or characters beyond Latin-1.`,
      );
    headers[parameter.name.toLowerCase()] = text;
  }
  return headers;
};

/** The pairs of the query or of the cookie, with those that come from the settings: no argument stands in for one. */
const writeNamed = (
  place: 'query' | 'cookie',
  { parameters }: OperationPlan,
  input: JsonRecord,
  credentials: readonly Pair[],
): readonly string[] => {
  const hidden = new Set(credentials.map(([name]) => name));
  const own = parameters.flatMap((parameter) => {
    const value = parameter.in === place ? argumentOf(parameter, input) : undefined;
    if (value === undefined) return [];
    const reserved = place === 'query' ? parameter.reserved : 'encode';
    return writePairs(value, { ...parameter, encode: (text) => percentEncode(text, reserved) });
  });
  return [...own.filter(([name]) => !hidden.has(name)), ...credentials].map((pair) => pair.join('='));
};

/**
 * The URL of a request, always below the base of the plan. Throws a RetryableToolError where a path parameter is empty or
 * would lead out of its segment.
 */
const createUrl = (plan: OperationPlan, input: JsonRecord, credentials: readonly Pair[]): URL => {
  const { base } = plan;
  const path = fillTemplate(plan.path, plan, (parameter) => writeSegment(parameter, argumentOf(parameter, input)));
  const wanted = base.pathname.replace(/\/+$/, '') + path;
  const url = new URL(base.origin + wanted);
  // Parsing removes dot segments: another path than was put together is one that somebody led astray.
  if (!isBelow(url, base) || url.pathname.split('/').length !== wanted.split('/').length || hasDotSegment(wanted))
    throw createArgumentRefusal("The path parameters lead out of the API's path. Send plain values.");
  const fixed = fillTemplate(plan.query, plan, (parameter) => percentEncode(toPiece(argumentOf(parameter, input))));
  url.search = [...(fixed === '' ? [] : [fixed]), ...writeNamed('query', plan, input, credentials)].join('&');
  return url;
};

/** A template with its placeholders filled; what the document itself has is sent as it is, but for what no URL may hold. */
const fillTemplate = (template: string, { parameters }: OperationPlan, write: (parameter: Part) => string): string =>
  template.replace(/\{([^{}]*)\}|[^{}]+/g, (literal, name: string | undefined) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    return parameter === undefined
      ? literal.replace(/[^\x21-\x7e]|["<>^`|]/gu, (character) => percentEncode(character))
      : write(parameter);
  });

const writeSegment = (parameter: Part, value: unknown): string => {
  const { name } = parameter;
  const plain = writeText(value, { ...parameter, encode: (text) => text });
  if (isEmpty(value)) throw createArgumentRefusal(`The path parameter '${name}' is empty. Send a value for it.`);
  // Also each of the parts that a style joins.
  const pieces = typeof value === 'object' && value !== null ? Object.entries(value).flat().map(toPiece) : [];
  if ([plain, ...pieces].some(leadsUp))
    throw createArgumentRefusal(`The path parameter '${name}' must not contain '.' or '..' as a path segment.`);
  return writeText(value, { ...parameter, encode: percentEncode });
};

const isEmpty = (value: unknown): boolean =>
  ['', '{}'].includes(toPiece(value)) || (Array.isArray(value) && value.every((item) => toPiece(item) === ''));

// Percent codes are encoded once more, yet some proxies decode twice and then tidy the path up; and to some what follows
// a NUL, or stands after a `;`, is not there.
const leadsUp = (text: string): boolean =>
  decodeOften(text)
    .split(/[/\\,;=]/)
    .some((step) => /^\.{1,2}$/.test(step.replace(CONTROLS, '')));

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROLS = /[\x00-\x20\x7f]/g;
const MOST_DECODINGS = 8;

const decodeOften = (text: string): string => {
  let decoded = text;
  for (let count = 0; count < MOST_DECODINGS && decoded.includes('%'); count += 1)
    decoded = decoded.replace(/%(?:25)*([0-9a-f]{2})/gi, (_code, hex: string) =>
      String.fromCharCode(parseInt(hex, 16)),
    );
  return decoded;
};
