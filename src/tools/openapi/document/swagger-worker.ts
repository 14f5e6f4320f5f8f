import { parentPort, workerData } from 'node:worker_threads';
import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0';
import { isRecord, memberOf, recordAt, textAt } from './json-record.ts';
import { settleSwagger } from './settle-swagger.ts';

// The thread that makes an OpenAPI 3.0 document of one of Swagger 2.0. What it throws ends it, with the reason.

const given: unknown = workerData;
if (!isRecord(given)) throw new Error('it is not an object');
const { document, formBodies } = settleSwagger(recordAt(given, 'root'), textAt(given, 'scheme') ?? 'https');
const upgraded: unknown = upgradeFromTwoToThree(structuredClone(document));
if (!isRecord(upgraded)) throw new Error('it is not an object');
// The converter does not say that a form must be there.
for (const [path, method] of formBodies) {
  const body = memberOf(recordAt(recordAt(recordAt(upgraded, 'paths'), path), method), 'requestBody');
  if (isRecord(body)) Reflect.set(body, 'required', true);
}
parentPort?.postMessage(upgraded);
