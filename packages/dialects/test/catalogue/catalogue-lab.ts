import { describe } from './describe.ts';

export const SEARCH = describe('search.files', {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { query: { type: 'string', minLength: 1 }, limit: { type: 'integer', default: 10, maximum: 50 } },
  required: ['query'],
  additionalProperties: false,
});

export const PLAIN = {
  type: 'object',
  properties: { query: { type: 'string', minLength: 1 }, limit: { type: 'integer', default: 10, maximum: 50 } },
  required: ['query'],
  additionalProperties: false,
};
