// Sentences that tell a model to make the call once more: of this service, of its tools, and as most people write them.
const ADVICE =
  /(^|[.!?…]["'”’)\]]{0,3} )(?:(?:please )?(?:try|call|retry)(?: it| this)? again\b|(?:please )?try (?:later|different|other)\b|please retry\b|retry (?:later|in)\b|ask for less\b|fix th(?:is|ese) and call\b|it is safe to call it again\b|check before (?:calling|posting)(?: it)? again\b|send one JSON object, for example\b.*$)(?:[^.!?\n]|[.!?](?=\S))*[.!?]? ?/gim;

/** A message without the sentences that advise another try, and without the hint; "" where it says nothing else. */
export const withoutAdvice = (message: string, hint: string | null): string =>
  dropHint(message, hint).replace(ADVICE, '$1').trim();

const dropHint = (message: string, hint: string | null): string => {
  const at = hint === null ? -1 : message.lastIndexOf(hint);
  return hint === null || at === -1 ? message : message.slice(0, at) + message.slice(at + hint.length);
};
