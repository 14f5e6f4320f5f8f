// biome-ignore-all lint/performance/noBarrelFile: with this face toolkits need not know where egress keeps its parts.

export { readShortage } from 'recourse-server/tools/resource-shortage';
export { type AddressPolicy, createFetchPolicy, isAnyAddress } from './egress/address-policy.ts';
export { ACCEPT_ENCODING } from './egress/bounded-body.ts';
export { type ClientFetch, CUT_HEADER, createClientFetch } from './egress/client-fetch.ts';
export { codeOf } from './egress/error-code.ts';
export type { Answer, NoAnswer } from './egress/exchange.ts';
export type { Fetched, HttpClient } from './egress/http-client.ts';
export { createDnsLookup, type Lookup, lookupBySystem } from './egress/lookup.ts';
export { createNoAnswerFailure as toNoAnswerFailure, findNoAnswer, NoAnswerError } from './egress/no-answer-error.ts';
export { allowChosenService as toChosenService, createClientOpener } from './egress/open-client.ts';
export { createResponseFailure } from './egress/response-failure.ts';
export { isSuccess, parseRetryAfter, toSeconds } from './egress/response-status.ts';
export { showText, showUrl, showValue } from './egress/show-url.ts';
export { parseTargetUrl } from './egress/target-url.ts';
export { toText } from './egress/text-content.ts';
export { untilAborted, withTimeLimit } from './egress/time-limit.ts';
export { type RetryClock, systemRetryClock } from './egress/transport-retries.ts';
