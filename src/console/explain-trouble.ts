import type { Refusal, Trouble } from './answer.ts';

export type Explained = { readonly title: string; readonly advice: string };

/** Says why a request was not answered, and what a person can do about it. `origin` is that of the page. */
export const explainTrouble = (trouble: Trouble, key: string, origin: string): Explained => {
  if (trouble.kind === 'unreachable')
    return {
      title: 'The service cannot be reached.',
      advice: 'It may be down or restarting, or the network is. Try again.',
    };
  const explained = explainStatus(trouble, key, origin);
  return explained ?? { title: `The service answered ${trouble.status}.`, advice: trouble.detail };
};

const explainStatus = (refusal: Refusal, key: string, origin: string): Explained | null => {
  switch (refusal.status) {
    case 401:
      return key === ''
        ? { title: 'This service asks for an API key.', advice: 'Enter yours at the top of the page.' }
        : {
            title: 'The API key was not accepted.',
            advice: 'It is wrong, expired or not known any more. Enter another at the top of the page.',
          };
    case 403:
      return explainForbidden(refusal, origin);
    case 429:
      return { title: 'Too many requests for this key.', advice: adviseToWait(refusal) };
    case 503:
      return { title: 'The service does not take requests now.', advice: `${refusal.detail} ${adviseToWait(refusal)}` };
    default:
      return null;
  }
};

const explainForbidden = ({ code, detail }: Refusal, origin: string): Explained | null => {
  if (code === 'forbidden_origin')
    return {
      title: 'The service does not accept requests from this page.',
      advice: `Add this page's origin to ALLOWED_ORIGINS: ${origin}`,
    };
  if (code === 'operation_not_allowed')
    return { title: 'This API key may not do that.', advice: `${detail} Use a key that has the operation.` };
  return null;
};

const adviseToWait = ({ retryAfterSeconds }: Refusal): string =>
  retryAfterSeconds === null ? 'Try again later.' : `Try again in ${retryAfterSeconds} s.`;
