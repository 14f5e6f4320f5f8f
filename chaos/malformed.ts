/** A request that is no batch, and the status that says so. */
export type Malformed = {
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
};

const JSON_TYPE = { 'content-type': 'application/json' } as const;
const bad = (body: string | Buffer): Malformed => ({ body, headers: JSON_TYPE, status: 400 });
const typed = (type: string): Malformed => ({ body: '{"calls":[]}', headers: { 'content-type': type }, status: 415 });

export const MALFORMED: readonly Malformed[] = [
  bad(''),
  bad('{"calls":['),
  bad('[]'),
  bad('"calls"'),
  bad('null'),
  bad('{}'),
  bad('{"calls":{"0":{"name":"echo"}}}'),
  bad('{"calls":[],"order":"backwards"}'),
  bad('{"calls":[],"deadline_ms":-1}'),
  bad('{"calls":[],"session_id":""}'),
  bad('{"calls":[],"round_id":"\\u0000"}'),
  bad(JSON.stringify({ calls: Array.from({ length: 1025 }, () => 0) })),
  bad(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])),
  typed('text/plain'),
  typed('application/json; charset=utf-16'),
  { body: 'not gzip', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, status: 415 },
  { body: '{"calls":[]}', headers: { ...JSON_TYPE, origin: 'https://elsewhere.example' }, status: 403 },
];
