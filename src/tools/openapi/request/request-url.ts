import { isBelow } from '../../http/pinned-redirects.ts';
import type { OperationPlan } from '../operation/operation-plan.ts';
import type { Parameter } from '../operation/parameters.ts';
import { toArgumentRefusal } from './argument-refusal.ts';
import { percentEncode } from './percent-encode.ts';
import { type Pair, toPairs, toPiece, toStyledText } from './style-parameter.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** What was sent for a parameter, or stands in where nothing was; undefined where neither is. */
export const argumentOf = (parameter: Parameter, given: Arguments): unknown => {
  const { argument, fallback } = parameter;
  const value = argument !== null && Object.hasOwn(given, argument) ? given[argument] : fallback;
  return parameter.asJson && value !== undefined ? JSON.stringify(value) : value;
};

/**
 * The URL of a request, always below the base of the plan. Throws a RetryableToolError where a path parameter is empty or would lead
 * out of its segment. `credentials`: pairs of the query that come from the settings; an argument never stands in for one.
 */
export const toRequestUrl = (
  plan: Pick<OperationPlan, 'base' | 'path' | 'query' | 'parameters'>,
  given: Arguments,
  credentials: readonly Pair[],
): URL => {
  const { base } = plan;
  const path = plan.path.replace(/\{([^{}]*)\}|[^{}]+/g, (literal, name: string | undefined) =>
    name === undefined ? toLiteral(literal) : toPathText(name, plan.parameters, given),
  );
  const wanted = base.pathname.replace(/\/+$/, '') + path;
  const url = new URL(base.origin + wanted);
  // Parsing removes dot segments: another path than was put together is one that somebody led astray.
  if (!isBelow(url, base) || url.pathname.split('/').length !== wanted.split('/').length || hasDotSegment(wanted))
    throw toArgumentRefusal("The path parameters lead out of the API's path. Send plain values.");
  const own = toQuery(plan.parameters, given, credentials);
  const fixed = plan.query === '' ? [] : [toFixedQuery(plan, given)];
  url.search = [...fixed, ...own, ...credentials.map(encodePair)].join('&');
  return url;
};

/** What the document itself puts behind the path, with a value wherever a placeholder stands. */
const toFixedQuery = ({ query, parameters }: Pick<OperationPlan, 'query' | 'parameters'>, given: Arguments): string =>
  query.replace(/\{([^{}]*)\}|[^{}]+/g, (literal, name: string | undefined) => {
    if (name === undefined) return toLiteral(literal);
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    return percentEncode(toPiece(parameter === undefined ? '' : argumentOf(parameter, given)));
  });

// The document's own part of the path, as it is but for what no URL may hold.
const toLiteral = (text: string): string =>
  text.replace(/[^\x21-\x7e]|["<>^`|]/gu, (character) => percentEncode(character));

const hasDotSegment = (path: string): boolean => path.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment));

const toPathText = (name: string, parameters: readonly Parameter[], given: Arguments): string => {
  const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
  const value = parameter === undefined ? undefined : argumentOf(parameter, given);
  const styling = { name, style: parameter?.style ?? 'simple', explode: parameter?.explode ?? false } as const;
  const plain = toStyledText(value, { ...styling, encode: (text) => text });
  if (isEmpty(value)) throw toArgumentRefusal(`The path parameter '${name}' is empty. Send a value for it.`);
  if (leadsUp(plain) || toPieces(value).some(leadsUp))
    throw toArgumentRefusal(`The path parameter '${name}' must not hold '.' or '..' as a step of a path.`);
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
  given: Arguments,
  credentials: readonly Pair[],
): readonly string[] => {
  const withheld = new Set(credentials.map(([name]) => percentEncode(name)));
  const pairs = parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap((parameter) => {
      const value = argumentOf(parameter, given);
      if (value === undefined) return [];
      return toPairs(value, { ...parameter, encode: (text) => percentEncode(text, parameter.reserved) });
    });
  return pairs.filter(([name]) => !withheld.has(name)).map((pair) => pair.join('='));
};
