import { isObject, type JsonObject } from './json-type.ts';
import type { OfferedTool } from './provider.ts';

/** A function declaration as the script sees it. `schema` is the member that holds its parameters. */
export const toOfferedTool = (declared: JsonObject, schema: string): OfferedTool => {
  const parameters = declared[schema];
  const properties = isObject(parameters) ? parameters['properties'] : undefined;
  return {
    name: String(declared['name']),
    namesEveryProperty: declared['strict'] === true && schema === 'parameters',
    properties: Object.keys(isObject(properties) ? properties : {}),
  };
};
