import { parseJson } from '../json/parse-json.ts';
import { LoadedBody, ThrownAtLoadBody } from './host-messages.ts';
import type { HostLoad } from './loadable-file.ts';

/** What a host says of a file that it loaded. */
export const toLoaded = (body: string, trace: string | null): HostLoad => {
  const loaded = LoadedBody.safeParse(toValue(body));
  return loaded.success
    ? { kind: 'loaded', ...loaded.data, trace }
    : { kind: 'failed', reason: 'what its tools say of themselves cannot be read', thrown: null };
};

/** The same of one that it could not load. */
export const toFailed = (body: string, reason: string): HostLoad => ({
  kind: 'failed',
  reason,
  thrown: ThrownAtLoadBody.safeParse(toValue(body)).data ?? null,
});

/** The value of a text that should be JSON; undefined where it is none. */
export const toValue = (text: string): unknown => {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
};
