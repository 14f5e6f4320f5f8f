import { onTestFinished } from 'vitest';
import type { Json } from './openapi-stand-in-schemas.ts';
import { type OpenStandIn, openStandIn } from './openapi-stand-in-server.ts';

/** A stand-in for the API of a document that ends with the test. */
export const startStandIn = async (source: Json, basePath = ''): Promise<OpenStandIn> => {
  const standIn = await openStandIn(source, basePath);
  onTestFinished(standIn.close);
  return standIn;
};
