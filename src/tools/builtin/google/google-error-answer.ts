import * as z from 'zod';
import { parseRetryAfter } from '../../http/retry-after.ts';

/** What Google said in an answer that is no success. All texts are Google's. */
export type GoogleErrorAnswer = {
  readonly status: number;
  /** Whether it holds an error as Google writes it: else who answered may be anybody. */
  readonly isGoogles: boolean;
  /** `rateLimitExceeded` of the older form, `SERVICE_DISABLED` of the newer, `invalid_grant` of a sign-in. */
  readonly reasons: ReadonlySet<string>;
  readonly message: string;
  /** The parameters that are at fault. */
  readonly locations: readonly string[];
  /** `projects/12`: whose API it is about. */
  readonly consumer: string | null;
  readonly retryAfterMs: number | undefined;
};

// What gaxios 8 throws for a status that is no success.
const Thrown = z.object({
  response: z.object({ status: z.int(), data: z.unknown(), headers: z.unknown() }),
});

// https://cloud.google.com/apis/design/errors, with the `errors` of older APIs. A member in any other form is none.
const Reason = z
  .object({ reason: z.string().catch(''), location: z.string().catch('') })
  .catch({ reason: '', location: '' });
const Detail = z
  .object({
    reason: z.string().catch(''),
    metadata: z.object({ consumer: z.string().nullable().catch(null) }).catch({ consumer: null }),
  })
  .catch({ reason: '', metadata: { consumer: null } });
const ApiError = z.object({
  error: z.object({
    message: z.string().catch(''),
    status: z.string().catch(''),
    errors: z.array(Reason).catch([]),
    details: z.array(Detail).catch([]),
  }),
});
// RFC 6749, section 5.2.
const SignInError = z.object({ error: z.string(), error_description: z.string().catch('') });

/** The answer behind what Google's library threw; null where there is none. Times in milliseconds. */
export const readErrorAnswer = (thrown: unknown, nowMs: number): GoogleErrorAnswer | null => {
  const known = Thrown.safeParse(thrown);
  if (!known.success) return null;
  const { status, data, headers } = known.data.response;
  const retryAfterMs = parseRetryAfter(toRetryAfter(headers), nowMs);
  return { status, ...toWords(toJson(data)), retryAfterMs };
};

const toWords = (value: unknown): Omit<GoogleErrorAnswer, 'status' | 'retryAfterMs'> => {
  const ofApi = ApiError.safeParse(value).data?.error;
  if (ofApi !== undefined)
    return {
      isGoogles: true,
      reasons: new Set([
        ofApi.status,
        ...ofApi.errors.map(({ reason }) => reason),
        ...ofApi.details.map(({ reason }) => reason),
      ]),
      message: ofApi.message,
      locations: ofApi.errors.map(({ location }) => location),
      consumer: ofApi.details.find(({ metadata }) => metadata.consumer !== null)?.metadata.consumer ?? null,
    };
  const ofSignIn = SignInError.safeParse(value).data;
  const reasons = new Set(ofSignIn === undefined ? [] : [ofSignIn.error]);
  const isGoogles = ofSignIn !== undefined;
  return { isGoogles, reasons, message: ofSignIn?.error_description ?? '', locations: [], consumer: null };
};

const toRetryAfter = (headers: unknown): string | undefined =>
  headers instanceof Headers ? (headers.get('retry-after') ?? undefined) : undefined;

/** Of a download the library gives bytes, of anything that is no JSON the text. */
const toJson = (data: unknown): unknown => {
  if (!(data instanceof ArrayBuffer)) return data;
  try {
    return JSON.parse(Buffer.from(data).toString());
  } catch (_noJson) {
    return null;
  }
};
