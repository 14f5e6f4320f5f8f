import { isJson, type Json, jsonAt, type StandInDocument } from '@recourse/test-support/openapi-stand-in-schemas.ts';
import { findCredentialKeys, isHidden } from '@recourse/upstream-openapi/parameters';
import type { ToolOffer } from '../../src/tools/tool-offer.ts';

const METHODS = ['get', 'head', 'options', 'put', 'post', 'patch', 'delete'] as const;

/**
 * Operations of a document whose tool has fewer arguments than they have parameters, or none for their body. Counted on
 * the document itself, not by what the import made of it.
 */
export const findLostArguments = (
  { root, follow }: Pick<StandInDocument, 'root' | 'follow'>,
  { tools }: ToolOffer,
): readonly string[] => {
  const credentials = findCredentialKeys(root, undefined);
  const counts = new Map(
    tools.map(({ source, inputSchema }) => [source, Object.keys(jsonAt(inputSchema, 'properties')).length]),
  );
  return Object.entries(jsonAt(root, 'paths')).flatMap(([path, given]) => {
    const item = follow(given);
    return METHODS.flatMap((method) => {
      const label = `${method.toUpperCase()} ${path}`;
      // Longer ones are cut where tools show them, and then several operations share one.
      const found = counts.get(`openapi:api ${label}`);
      if (found === undefined || !isJson(item[method])) return [];
      const expected =
        parametersOf(item, follow(item[method]), { path, follow, credentials }) + bodyOf(follow(item[method]), follow);
      return found < expected ? [`${label} has ${found} arguments of at least ${expected}`] : [];
    });
  });
};

type Follow = StandInDocument['follow'];
type Place = { readonly path: string; readonly follow: Follow; readonly credentials: ReadonlySet<string> };

const parametersOf = (item: Json, operation: Json, { path, follow, credentials }: Place): number => {
  const all = [item['parameters'], operation['parameters']].flat().filter(isJson).map(follow);
  const fixed = new Set([...new URLSearchParams(path.split('#', 1)[0]?.split('?')[1] ?? '').keys()]);
  const kept = all.filter(({ in: place, name }) => {
    if (place === 'path') return path.includes(`{${name}}`);
    if (place === 'query' && fixed.has(String(name))) return false;
    return String(name).toLowerCase() !== 'idempotency-key' && !isHidden(String(place), String(name), credentials);
  });
  return new Set(kept.map((one) => `${one['in']} ${one['name']}`)).size;
};

/** One where there is a body of which something can be said. */
const bodyOf = (operation: Json, follow: Follow): number => {
  const contents = Object.values(jsonAt(follow(operation['requestBody']), 'content')).filter(isJson);
  return contents.some((content) => !isForAnswersAlone(follow(content['schema']), follow)) ? 1 : 0;
};

const isForAnswersAlone = (schema: Json, follow: Follow): boolean => {
  const members = Object.values(jsonAt(schema, 'properties')).filter(isJson);
  const hasMore = ['allOf', 'anyOf', 'oneOf', 'additionalProperties'].some((word) => word in schema);
  return (
    members.length > 0 &&
    !hasMore &&
    members.every((one) => one['readOnly'] === true || follow(one)['readOnly'] === true)
  );
};
