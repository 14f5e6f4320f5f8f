import { randomUUID } from 'node:crypto';
import { ACCEPT_ENCODING } from '@recourse/toolkit-kit/egress/bounded-body';
import type { Hop } from '@recourse/toolkit-kit/egress/redirects';
import { isBelow } from '@recourse/toolkit-kit/egress/redirects';
import type { ToolContext } from 'recourse-server/tools/tool';
import type { Credentials } from './credentials.ts';
import type { OperationPlan } from './operation-plan.ts';
import type { Parameter } from './parameters.ts';
import { type FileReading, toSentBody } from './sent-body.ts';
import {
  type Arguments,
  type Pair,
  percentEncode,
  toArgumentRefusal,
  toJsonText,
  toPairs,
  toPiece,
  toStyledText,
} from './written-values.ts';

const USER_AGENT = 'recourse-openapi';

/** The request that a call makes. Throws a RetryableToolError where an argument cannot be written. */
export const toOperationRequest = async (
  plan: OperationPlan,
  input: Arguments,
  { credentials, files }: { readonly credentials: Credentials; readonly files: FileReading },
  context: Pick<ToolContext, 'effects' | 'idempotencyKey' | 'traceparent'>,
): Promise<Hop> => {
  // Before a file is read for it: what is wrong with the address is told first.
  const url = toRequestUrl(plan, input, credentials.query);
  const body = plan.body === null ? null : await toSentBody(plan.body, plan.fill(input), files);
  const cookie = toCookie(plan.parameters, input, credentials.cookies);
  const key = toIdempotencyKey(plan, context);
  const headers = {
    accept: plan.accept,
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': USER_AGENT,
    ...toHeaders(plan.parameters, input),
    ...(context.traceparent === null ? {} : { traceparent: context.traceparent }),
    ...(key === null ? {} : { 'idempotency-key': key }),
    ...(cookie === '' ? {} : { cookie }),
    ...(body === null ? {} : { 'content-type': body.contentType }),
    // Last: nothing that a model sends stands in for what the settings say.
    ...credentials.headers,
  };
  return { url, headers, method: plan.method, ...(body === null ? {} : { body: body.content }) };
};

const toIdempotencyKey = (
  plan: OperationPlan,
  { effects, idempotencyKey: key }: Pick<ToolContext, 'effects' | 'idempotencyKey'>,
): string | null => {
  if (plan.idempotencyKey === 'none' || (plan.idempotencyKey === 'of_writes' && effects !== 'write')) return null;
  // One of our own where the API insists: it is new for each call, as the call is.
  return key ?? (plan.idempotencyKey === 'required' ? randomUUID() : null);
};

const toHeaders = (parameters: readonly Parameter[], input: Arguments): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === 'header')
      .flatMap((parameter) => {
        const value = argumentOf(parameter, input);
        if (value === undefined || value === null) return [];
        return [[parameter.name.toLowerCase(), toHeaderText(parameter, value)] as const];
      }),
  );

// RFC 9110, section 5.5. A line end would begin a header of the model's own.
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;

const toHeaderText = (parameter: Parameter, value: unknown): string => {
  const text = toStyledText(value, { ...parameter, style: 'simple', encode: (piece) => piece });
  if (!HEADER_TEXT.test(text))
    throw toArgumentRefusal(
      `The parameter '${parameter.argument ?? parameter.name}' is sent in a header and must not contain line breaks or characters beyond Latin-1.`,
    );
  return text;
};

const toCookie = (parameters: readonly Parameter[], input: Arguments, credentials: readonly Pair[]): string => {
  const withheld = new Set(credentials.map(([name]) => name));
  const pairs = parameters
    .filter((parameter) => parameter.in === 'cookie')
    .flatMap((parameter) => {
      const value = argumentOf(parameter, input);
      return value === undefined ? [] : toPairs(value, { ...parameter, encode: (text) => percentEncode(text) });
    });
  return [...pairs.filter(([name]) => !withheld.has(name)), ...credentials].map((pair) => pair.join('=')).join('; ');
};

/** What was sent for a parameter, or stands in where nothing was; undefined where neither is. */
const argumentOf = (parameter: Parameter, input: Arguments): unknown => {
  const { argument, fallback } = parameter;
  const value = argument !== null && Object.hasOwn(input, argument) ? input[argument] : fallback;
  return parameter.asJson && value !== undefined ? toJsonText(value) : value;
};

/**
 * The URL of a request, always below the base of the plan. Throws a RetryableToolError where a path parameter is empty or would lead
 * out of its segment. `credentials`: pairs of the query that come from the settings; an argument never stands in for one.
 */
const toRequestUrl = (
  plan: Pick<OperationPlan, 'base' | 'path' | 'query' | 'parameters'>,
  input: Arguments,
  credentials: readonly Pair[],
): URL => {
  const { base } = plan;
  const path = plan.path.replace(/\{([^{}]*)\}|[^{}]+/g, (literal, name: string | undefined) =>
    name === undefined ? toLiteral(literal) : toPathText(name, plan.parameters, input),
  );
  const wanted = base.pathname.replace(/\/+$/, '') + path;
  const url = new URL(base.origin + wanted);
  // Parsing removes dot segments: another path than was put together is one that somebody led astray.
  if (!isBelow(url, base) || url.pathname.split('/').length !== wanted.split('/').length || hasDotSegment(wanted))
    throw toArgumentRefusal("The path parameters lead out of the API's path. Send plain values.");
  const own = toQuery(plan.parameters, input, credentials);
  const fixed = plan.query === '' ? [] : [toFixedQuery(plan, input)];
  url.search = [...fixed, ...own, ...credentials.map(encodePair)].join('&');
  return url;
};

/** What the document itself puts behind the path, with a value wherever a placeholder stands. */
const toFixedQuery = ({ query, parameters }: Pick<OperationPlan, 'query' | 'parameters'>, input: Arguments): string =>
  query.replace(/\{([^{}]*)\}|[^{}]+/g, (literal, name: string | undefined) => {
    if (name === undefined) return toLiteral(literal);
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    return percentEncode(toPiece(parameter === undefined ? '' : argumentOf(parameter, input)));
  });

// The document's own part of the path, as it is but for what no URL may hold.
const toLiteral = (text: string): string =>
  text.replace(/[^\x21-\x7e]|["<>^`|]/gu, (character) => percentEncode(character));

const hasDotSegment = (path: string): boolean => path.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment));

const toPathText = (name: string, parameters: readonly Parameter[], input: Arguments): string => {
  const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
  const value = parameter === undefined ? undefined : argumentOf(parameter, input);
  const styling = { name, style: parameter?.style ?? 'simple', explode: parameter?.explode ?? false } as const;
  const plain = toStyledText(value, { ...styling, encode: (text) => text });
  if (isEmpty(value)) throw toArgumentRefusal(`The path parameter '${name}' is empty. Send a value for it.`);
  if (leadsUp(plain) || toPieces(value).some(leadsUp))
    throw toArgumentRefusal(`The path parameter '${name}' must not contain '.' or '..' as a path segment.`);
  return toStyledText(value, { ...styling, encode: percentEncode });
};

const isEmpty = (value: unknown): boolean =>
  toPiece(value) === '' ||
  (Array.isArray(value) && value.every((item) => toPiece(item) === '')) ||
  toPiece(value) === '{}';

/** The parts that a style joins. */
const toPieces = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null ? Object.entries(value).flat().map(toPiece) : [];

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

const encodePair = ([name, value]: Pair): string => `${percentEncode(name)}=${percentEncode(value)}`;

const toQuery = (
  parameters: readonly Parameter[],
  input: Arguments,
  credentials: readonly Pair[],
): readonly string[] => {
  const withheld = new Set(credentials.map(([name]) => percentEncode(name)));
  const pairs = parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap((parameter) => {
      const value = argumentOf(parameter, input);
      if (value === undefined) return [];
      return toPairs(value, { ...parameter, encode: (text) => percentEncode(text, parameter.reserved) });
    });
  return pairs.filter(([name]) => !withheld.has(name)).map((pair) => pair.join('='));
};
