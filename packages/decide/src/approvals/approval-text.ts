import type { Approval } from 'recourse-server/contract/tool-result';
import { echoName } from 'recourse-server/executor/failure-text';

// What a model reads of approvals.

export const requiredText = (name: string, { expires_at: until }: Pick<Approval, 'expires_at'>): string =>
  `Not executed: a person has to approve this call to '${echoName(name)}' first, and may do so until ${until}. Do not call it again before you are told that it is approved; then make the same call with the same arguments, and it runs once. Meanwhile continue with other work, or say that an approval is needed.`;

export const deniedByRuleText = (name: string): string =>
  `Not executed: a rule of the operator denies this call to '${echoName(name)}'. Use another tool, or say what could not be done.`;

export const deniedText = (name: string, reason: string | null): string =>
  `Not executed: a person has denied this call to '${echoName(name)}'${reason === null ? '.' : `: ${endSentence(reason)}`} Do not call it again with these arguments, and do not get around the denial by other calls: continue without it, or say what could not be done.`;

export const expiredText = (name: string): string =>
  `Not executed: nobody approved this call to '${echoName(name)}' in time, or it did not start in time after that. It may be called again, which asks again.`;

export const withdrawnText = (name: string): string =>
  `Not executed: the request to approve this call to '${echoName(name)}' was withdrawn. Do not call it again unless you are asked to.`;

export const staleText = (name: string): string =>
  `Not executed: the tool '${echoName(name)}', its arguments or the rights of the caller have changed since this call was approved. It may be called again, which asks again.`;

export const tooManyText = (name: string): string =>
  `Not executed: too many calls wait for a person's approval, so none was asked for this call to '${echoName(name)}'. Continue with other work, and call it again later.`;

export const storeAwayText = (name: string): string =>
  `Not executed: whether a person has approved this call to '${echoName(name)}' cannot be told now. Call it again in a few seconds.`;

const endSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
