// Sentences that tell a model to make the call once more: of this service, of its tools, and as most people write them.
const ADVICE =
  /(^|[.!?…]["'”’)\]]{0,3} )(?:(?:please )?(?:try|call|retry)(?: it| this)? again\b|(?:please )?try (?:later|different|other)\b|please retry\b|retry (?:later\b|in (?=\d|an? |some ))|ask for less\b|fix th(?:is|ese) and call\b|it is safe to call it again\b|check before (?:calling|posting)(?: it)? again\b|send one JSON object, for example\b.*$)(?:\b(?:e\.g|i\.e|etc|vs)\.|[^.!?\n]|[.!?](?=\S))*[.!?]? ?/gim;

/** A message without the sentences that advise another try, and without the hint; "" where it says nothing else. */
export const withoutAdvice = (message: string, hint: string | null): string =>
  dropHint(message, hint).replace(ADVICE, '$1').trim();

// A hint that is a part of a sentence stays: without it "The nearest is notes.md." would say nothing.
const dropHint = (message: string, hint: string | null): string => {
  const at = hint === null ? -1 : message.lastIndexOf(hint);
  if (hint === null || at === -1) return message;
  const before = message.slice(0, at);
  const after = message.slice(at + hint.length);
  const isWhole = isAtStart(before) && (ENDED.test(hint.slice(-4)) || /^(?:[.!?…]|\s*$|\s*\n)/.test(after));
  return isWhole ? before + after.replace(/^[.!?…]+/, '') : message;
};

const ENDED = /[.!?…。！？]["'”’)\]]{0,3}$/;

/** Whether a sentence may begin behind this text. */
const isAtStart = (before: string): boolean => {
  const text = before.trimEnd();
  return text === '' || ENDED.test(text.slice(-4)) || before.slice(text.length).includes('\n');
};
