import { findNearestNames } from '../contract/nearest-names.ts';
import { ProblemError } from './problem-handler.ts';

// By other names: of the company, the model, or the interface.
const OTHER_WORDS: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  google: 'gemini',
  vertex: 'gemini',
  aws: 'bedrock',
  converse: 'bedrock',
  vercel: 'ai-sdk',
  aisdk: 'ai-sdk',
  recourse: 'native',
  chat: 'openai-chat',
  responses: 'openai-responses',
  realtime: 'openai-realtime',
};

/** Refuses a format that is none of these, and says which was meant where that can be told. */
export const refuseFormat = (given: unknown, formats: readonly string[]): ProblemError => {
  const meant = typeof given === 'string' && given.length <= 40 ? findMeant(given.toLowerCase(), formats) : [];
  const question = meant.length === 0 ? '' : ` Did you mean ${meant.join(' or ')}?`;
  return new ProblemError(400, 'unknown_format', `format must be one of ${formats.join(', ')}.${question}`);
};

const findMeant = (given: string, formats: readonly string[]): readonly string[] => {
  const other = OTHER_WORDS[given];
  if (other !== undefined) return formats.filter((format) => format === other);
  const family = given === '' ? [] : formats.filter((format) => format.startsWith(`${given}-`));
  return family.length > 0 ? family : findNearestNames(given, formats, 1);
};
