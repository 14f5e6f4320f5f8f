/** A span as OTLP's protobuf carries it (opentelemetry/proto/trace/v1/trace.proto), with what it hangs in. */
export type ReceivedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  /** `''` for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'other';
  /** Unix time in nanoseconds. */
  readonly startedAt: bigint;
  readonly endedAt: bigint;
  readonly attributes: Attributes;
  readonly status: { readonly code: 'unset' | 'ok' | 'error'; readonly message: string };
  readonly events: number;
  readonly resource: Attributes;
  readonly scope: string;
};

export type Attributes = Readonly<Record<string, unknown>>;

type Field = { readonly number: number; readonly integer: bigint; readonly bytes: Buffer };

const NOTHING = Buffer.alloc(0);
// Wire types of a length that does not stand before them: fixed64 and fixed32.
const FIXED: ReadonlyMap<number, number> = new Map([
  [1, 8],
  [5, 4],
]);

/** The fields of a message in the order in which they stand there. */
const readFields = (message: Buffer): readonly Field[] => {
  const fields: Field[] = [];
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const readValue = (wireType: number): Omit<Field, 'number'> => {
    if (wireType === 0) return { integer: readVarint(), bytes: NOTHING };
    const length = FIXED.get(wireType) ?? Number(readVarint());
    const bytes = message.subarray(at, at + length);
    if (bytes.length !== length) throw new Error('The message ends inside a field.');
    at += length;
    return { integer: wireType === 1 ? bytes.readBigUInt64LE() : 0n, bytes };
  };
  while (at < message.length) {
    const tag = Number(readVarint());
    fields.push({ number: tag >> 3, ...readValue(tag & 7) });
  }
  return fields;
};

const allOf = (fields: readonly Field[], wanted: number): readonly Field[] =>
  fields.filter(({ number }) => number === wanted);
const bytesOf = (fields: readonly Field[], wanted: number): Buffer => allOf(fields, wanted).at(-1)?.bytes ?? NOTHING;
const integerOf = (fields: readonly Field[], wanted: number): bigint => allOf(fields, wanted).at(-1)?.integer ?? 0n;

/** AnyValue, as far as spans use it. */
const readAnyValue = (message: Buffer): unknown => {
  const [field] = readFields(message);
  switch (field?.number) {
    case 1:
      return field.bytes.toString('utf8');
    case 2:
      return field.integer !== 0n;
    case 3:
      return Number(BigInt.asIntN(64, field.integer));
    case 4:
      return field.bytes.readDoubleLE();
    case 5:
      return allOf(readFields(field.bytes), 1).map(({ bytes }) => readAnyValue(bytes));
    default:
      return undefined;
  }
};

const readAttributes = (fields: readonly Field[], wanted: number): Attributes =>
  Object.fromEntries(
    allOf(fields, wanted).map(({ bytes }) => {
      const pair = readFields(bytes);
      return [bytesOf(pair, 1).toString('utf8'), readAnyValue(bytesOf(pair, 2))];
    }),
  );

const KINDS = ['other', 'internal', 'server'] as const;
const STATUSES = ['unset', 'ok', 'error'] as const;

const readSpan = (message: Buffer, around: Pick<ReceivedSpan, 'resource' | 'scope'>): ReceivedSpan => {
  const fields = readFields(message);
  const status = readFields(bytesOf(fields, 15));
  return {
    traceId: bytesOf(fields, 1).toString('hex'),
    spanId: bytesOf(fields, 2).toString('hex'),
    traceState: bytesOf(fields, 3).toString('utf8'),
    parentSpanId: bytesOf(fields, 4).toString('hex'),
    name: bytesOf(fields, 5).toString('utf8'),
    kind: KINDS[Number(integerOf(fields, 6))] ?? 'other',
    startedAt: integerOf(fields, 7),
    endedAt: integerOf(fields, 8),
    attributes: readAttributes(fields, 9),
    events: allOf(fields, 11).length,
    status: {
      code: STATUSES[Number(integerOf(status, 3))] ?? 'unset',
      message: bytesOf(status, 2).toString('utf8'),
    },
    ...around,
  };
};

/** All spans of an ExportTraceServiceRequest. Throws where it is none. */
export const readExport = (message: Buffer): readonly ReceivedSpan[] =>
  allOf(readFields(message), 1).flatMap(({ bytes }) => {
    const ofResource = readFields(bytes);
    const resource = readAttributes(readFields(bytesOf(ofResource, 1)), 1);
    return allOf(ofResource, 2).flatMap((ofScope) => {
      const fields = readFields(ofScope.bytes);
      const scope = bytesOf(readFields(bytesOf(fields, 1)), 1).toString('utf8');
      return allOf(fields, 2).map((span) => readSpan(span.bytes, { resource, scope }));
    });
  });
