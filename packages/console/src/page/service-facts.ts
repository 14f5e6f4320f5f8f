/** Of this service: what it serves in place of this file has its own. What each failure code means, by code. */
export const CODES: Readonly<Record<string, string>> = {};

/** Where traces are shown, with `{trace_id}` in it; "" where TRACE_URL is not set. */
export const TRACE_URL: string = '';
