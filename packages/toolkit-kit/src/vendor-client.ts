// biome-ignore-all lint/performance/noBarrelFile: what only toolkits on a vendor's client need, so that others do not load it.
export { type ClientFetch, CUT_HEADER, createClientFetch } from './egress/client-fetch.ts';
export { createClientOpener, toChosenService } from './egress/open-client.ts';
export { untilAborted, withTimeLimit } from './egress/time-limit.ts';
