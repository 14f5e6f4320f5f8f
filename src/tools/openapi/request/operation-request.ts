import { randomUUID } from 'node:crypto';
import { ACCEPT_ENCODING } from '../../http/bounded-body.ts';
import type { Hop } from '../../http/redirects.ts';
import type { ToolContext } from '../../tool.ts';
import type { OperationPlan } from '../operation/operation-plan.ts';
import type { Parameter } from '../operation/parameters.ts';
import { toArgumentRefusal } from './argument-refusal.ts';
import type { Credentials } from './credentials.ts';
import { percentEncode } from './percent-encode.ts';
import { toSentBody } from './request-body-text.ts';
import { type Arguments, argumentOf, toRequestUrl } from './request-url.ts';
import type { FileReading } from './sent-file.ts';
import { type Pair, toPairs, toStyledText } from './style-parameter.ts';

const USER_AGENT = 'recourse-openapi';

/** The request that a call makes. Throws a RetryableToolError where an argument cannot be written. */
export const toOperationRequest = async (
  plan: OperationPlan,
  given: Arguments,
  { credentials, files }: { readonly credentials: Credentials; readonly files: FileReading },
  context: Pick<ToolContext, 'effects' | 'idempotencyKey' | 'traceparent'>,
): Promise<Hop> => {
  // Before a file is read for it: what is wrong with the address is told first.
  const url = toRequestUrl(plan, given, credentials.query);
  const body = plan.body === null ? null : await toSentBody(plan.body, plan.fill(given), files);
  const cookie = toCookie(plan.parameters, given, credentials.cookies);
  const key = toIdempotencyKey(plan, context);
  const headers = {
    accept: plan.accept,
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': USER_AGENT,
    ...toHeaders(plan.parameters, given),
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

const toHeaders = (parameters: readonly Parameter[], given: Arguments): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === 'header')
      .flatMap((parameter) => {
        const value = argumentOf(parameter, given);
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
      `The parameter '${parameter.argument ?? parameter.name}' goes into a header and must not hold line ends or characters beyond Latin-1.`,
    );
  return text;
};

const toCookie = (parameters: readonly Parameter[], given: Arguments, credentials: readonly Pair[]): string => {
  const withheld = new Set(credentials.map(([name]) => name));
  const pairs = parameters
    .filter((parameter) => parameter.in === 'cookie')
    .flatMap((parameter) => {
      const value = argumentOf(parameter, given);
      return value === undefined ? [] : toPairs(value, { ...parameter, encode: (text) => percentEncode(text) });
    });
  return [...pairs.filter(([name]) => !withheld.has(name)), ...credentials].map((pair) => pair.join('=')).join('; ');
};
