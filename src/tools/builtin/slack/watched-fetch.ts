import { type ClientFetch, CUT_HEADER } from '../../http/client-fetch.ts';
import { isSuccess } from '../../http/is-success.ts';

/** An answer as it came, before the client library saw it. */
export type SeenAnswer = {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
  /** Why the rest of the body is missing: `size` or `time`. */
  readonly cut: string | null;
};

/** What became of a request: whether it was handed on at all, and its answer, null where none came. */
export type Course = { readonly sent: boolean; readonly answer: SeenAnswer | null };

/** A `fetch` for one request of Slack's library, and what became of it. */
export const watchFetch = (
  clientFetch: ClientFetch,
): { readonly fetch: ClientFetch; readonly course: () => Course } => {
  let course: Course = { sent: false, answer: null };
  return {
    course: () => course,
    fetch: async (url, init) => {
      course = { sent: true, answer: null };
      const { status, headers, ...answer } = await readAnswer(clientFetch(url, init));
      course = { sent: true, answer: { status, ...answer } };
      // Or the library would unpack what calls itself application/gzip, to any size.
      headers.set('content-type', 'application/json');
      // It takes no success but 200, and what stands before Slack may say 201 for what Slack has done.
      const told = isSuccess(status) ? 200 : status;
      return new Response(answer.body === '' ? null : answer.body, { status: told, headers });
    },
  };
};

const readAnswer = async (coming: Promise<Response>): Promise<SeenAnswer & { readonly headers: Headers }> => {
  const answer = await coming;
  return {
    status: answer.status,
    headers: new Headers(answer.headers),
    retryAfter: answer.headers.get('retry-after') ?? undefined,
    body: await answer.text(),
    cut: answer.headers.get(CUT_HEADER),
  };
};
