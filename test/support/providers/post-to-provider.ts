import type { Provider, Rejection, Script } from './provider.ts';
import { startProviderEndpoint } from './provider-endpoint.ts';

/** Sends one request to an endpoint of its own, over a real socket, and gives status and body of the answer. */
export const postToProvider = async (
  provider: Provider,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Rejection> => {
  const endpoint = await startProviderEndpoint(provider, answerDone);
  try {
    const answer = await fetch(`${endpoint.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  } finally {
    await endpoint.stop();
  }
};

const answerDone: Script = () => ({ text: 'done' });

/** The error text of a rejection, whichever provider's. */
export const messageOf = ({ body }: Rejection): string => {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : null;
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : null;
  return typeof message === 'string' ? message : `not an error: ${JSON.stringify(body)}`;
};
