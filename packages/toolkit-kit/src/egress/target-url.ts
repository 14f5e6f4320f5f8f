import { RetryableToolError } from 'recourse-server/tools/tool-errors';
import { showUrl } from './show-url.ts';

/** Which ports may be asked: `web` for the public internet, `any` for tests and closed networks. */
export type PortRule = 'web' | 'any';

/** The first port that no well-known protocol owns; below it only HTTP's own are asked. */
const FIRST_FREE_PORT = 1024;

/**
 * Why this URL is never asked, as the rest of a sentence, or null. Under `web`, ports 1 to 1023 other than 80 and 443
 * belong to other protocols (SMTP, SSH, …), which must not be talked to through us.
 */
export const objectionTo = (url: URL, ports: PortRule): string | null => {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'only http and https URLs can be fetched';
  if (url.username !== '' || url.password !== '') return 'a URL must not contain a user name or password';
  return ports === 'any' || isWebPort(url.port)
    ? null
    : `port ${url.port} is not allowed (only 80, 443, and 1024 or above)`;
};

const isWebPort = (port: string): boolean =>
  port === '' || port === '80' || port === '443' || Number(port) >= FIRST_FREE_PORT;

/** Parses what a model sent as a URL. Throws a RetryableToolError that names the mistake. */
export const parseTargetUrl = (text: string, ports: PortRule): URL => {
  const url = URL.parse(text);
  if (url === null)
    throw new RetryableToolError(
      `'${showUrl(text)}' is not a URL. Send an absolute one, for example https://example.com/page.`,
    );
  const objection = objectionTo(url, ports);
  if (objection !== null)
    throw new RetryableToolError(
      `URL '${showUrl(url)}' was not fetched: ${objection}. Use a public http or https URL.`,
    );
  return url;
};
