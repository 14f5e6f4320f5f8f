// biome-ignore-all lint/performance/noBarrelFile: with this face toolkits need not know where egress keeps its parts.
import type { HttpClient, HttpClientOptions } from './egress/http-client.ts';

export { readShortage } from 'recourse-server/tools/resource-shortage';
export { type AddressPolicy, createFetchPolicy, isAnyAddress } from './egress/address-policy.ts';
export { ACCEPT_ENCODING } from './egress/bounded-body.ts';
export { codeOf } from './egress/error-code.ts';
export type { Answer, NoAnswer } from './egress/exchange.ts';
export type { Fetched, HttpClient } from './egress/http-client.ts';
export { createDnsLookup, type Lookup, lookupBySystem } from './egress/lookup.ts';
export { findNoAnswer, NoAnswerError, toNoAnswerFailure } from './egress/no-answer-error.ts';
export { toResponseFailure } from './egress/response-failure.ts';
export { isSuccess, parseRetryAfter, toSeconds } from './egress/response-status.ts';
export { showText, showUrl, showValue } from './egress/show-url.ts';
export { parseTargetUrl } from './egress/target-url.ts';
export { toText } from './egress/text-content.ts';
export { type RetryClock, systemRetryClock } from './egress/transport-retries.ts';

/** The guarded client of requests that leave the service. It is loaded here: undici is 8 MB and 70 ms. */
export const openHttpClient = async (options: HttpClientOptions): Promise<HttpClient> =>
  (await import('./egress/http-client.ts')).createHttpClient(options);
