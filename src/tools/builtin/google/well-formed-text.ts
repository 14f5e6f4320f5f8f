import * as z from 'zod';

/** Text as an argument that goes into a request: half a surrogate pair, such as half an emoji, has no form in UTF-8. */
export const WellFormedText = z
  .string()
  .refine((text) => text.isWellFormed(), 'has half a character in it (a lone surrogate); write it whole');
